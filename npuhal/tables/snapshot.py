"""Saving and restoring streams and process resources."""

TABLE = """
from ascend_hal_base.h
halStreamBackup(dev_id: u32, in: stream_backup_info*) -> drvError_t
halStreamRestore(dev_id: u32, in: stream_backup_info*) -> drvError_t
halProcessResBackup(info: inout halProcResBackupInfo*) -> drvError_t
halProcessResRestore(info: inout halProcResRestoreInfo*) -> drvError_t

from ascend_hal_define.h
struct stream_backup_info {
    type: u32, id_num: u32, id_list: u32*, rsv1: u32, va_num: u32, va_list: u64*, rsv: char[8]
}

from ascend_hal_base.h
struct hal_proc_res_backup_info halProcResBackupInfo { reserve: u64[8] }
struct hal_proc_res_restore_info halProcResRestoreInfo { reserve: u64[8] }
"""
