"""Types of acl.fv; made from the tables of calls by tests/tools/acl_stubs.py."""


def create_feature_info(id0: int, id1: int, offset: int, feature_len: int, feature_count: int, data: int, data_len: int, /) -> int:
    """acl.fv.create_feature_info; offset in bytes; not supported here: warns and answers 200001."""
def create_init_para(capacity: int, /) -> int:
    """acl.fv.create_init_para; not supported here: warns and answers 200001."""
def create_query_table(query_count: int, table_len: int, table_data: int, table_data_len: int, /) -> int:
    """acl.fv.create_query_table; not supported here: warns and answers 200001."""
def create_repo_range(id0_min: int, id0_max: int, id1_min: int, id1_max: int, /) -> int:
    """acl.fv.create_repo_range; not supported here: warns and answers 200001."""
def create_search_input(query_table: int, repo_range: int, top_k: int, /) -> int:
    """acl.fv.create_search_input; not supported here: warns and answers 200001."""
def create_search_result(query_count: int, result_num: int, result_num_len: int, id0: int, id1: int, result_offset: int, result_distance: int, data_len: int, /) -> int:
    """acl.fv.create_search_result; not supported here: warns and answers 200001."""
def delete(feature_info: int, /) -> int:
    """acl.fv.delete; not supported here: warns and answers 200001."""
def destory_init_para(init_para: int, /) -> int:
    """acl.fv.destory_init_para; not supported here: warns and answers 200001."""
def destroy_feature_info(feature_info: int, /) -> int:
    """acl.fv.destroy_feature_info; not supported here: warns and answers 200001."""
def destroy_init_para(init_para: int, /) -> int:
    """acl.fv.destroy_init_para; not supported here: warns and answers 200001."""
def destroy_query_table(query_table: int, /) -> int:
    """acl.fv.destroy_query_table; not supported here: warns and answers 200001."""
def destroy_repo_range(repo_range: int, /) -> int:
    """acl.fv.destroy_repo_range; not supported here: warns and answers 200001."""
def destroy_search_input(search_input: int, /) -> int:
    """acl.fv.destroy_search_input; not supported here: warns and answers 200001."""
def destroy_search_result(search_result: int, /) -> int:
    """acl.fv.destroy_search_result; not supported here: warns and answers 200001."""
def init(init_para: int, /) -> int:
    """acl.fv.init; not supported here: warns and answers 200001."""
def modify(feature_info: int, /) -> int:
    """acl.fv.modify; not supported here: warns and answers 200001."""
def release(*given: object) -> int:
    """acl.fv.release; not supported here: warns and answers 200001."""
def repo_add(type: int, feature_info: int, /) -> int:
    """acl.fv.repo_add; not supported here: warns and answers 200001."""
def repo_del(type: int, repo_range: int, /) -> int:
    """acl.fv.repo_del; not supported here: warns and answers 200001."""
def search(type: int, search_input: int, search_result: int, /) -> int:
    """acl.fv.search; not supported here: warns and answers 200001."""
def set_1n_top_num(init_para: int, number: int, /) -> int:
    """acl.fv.set_1n_top_num; not supported here: warns and answers 200001."""
def set_nm_top_num(init_para: int, number: int, /) -> int:
    """acl.fv.set_nm_top_num; not supported here: warns and answers 200001."""
