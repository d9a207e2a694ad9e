"""Notify and event ids shared between processes."""

TABLE = """
from ascend_hal_base.h
halShrIdCreate(info: drvShrIdInfo*, name: char*, name_len: u32) -> drvError_t
halShrIdDestroy(name: char*) -> drvError_t
halShrIdOpen(name: char*, info: out drvShrIdInfo*) -> drvError_t
halShrIdClose(name: char*) -> drvError_t
halShrIdSetPid(name: char*, pid: i32*, pid_num: u32) -> drvError_t
halShrIdSetPodPid(name: char*, sdid: u32, pid: i32) -> drvError_t
halShrIdRecord(name: char*) -> drvError_t
halShrIdInfoGet(name: char*, info: out shrIdGetInfo*) -> drvError_t
halShrIdSetAttribute(name: char*, type: shrIdAttrType, attr: shrIdAttr) -> drvError_t
halShrIdGetAttribute(name: char*, type: shrIdAttrType, attr: out shrIdAttr*) -> drvError_t
drvCloseIpcNotify(name: char*, info: drvIpcNotifyInfo*) -> drvError_t

from ascend_hal_define.h
struct drvShrIdInfo { devid: u32, tsid: u32, id_type: u32, shrid: u32, flag: u32, rsv: u32[2] }
struct shrIdGetInfo { phyDevid: u32, rsv: u32[8] }
struct shrIdAttr { enableFlag: u32, rsv: u32[8] }

from ascend_hal_base.h
struct drvIpcNotifyInfo { tsId: u32, devId: u32, notifyId: u32 }

from ascend_hal_define.h
enum shrIdAttrType { SHR_ID_ATTR_NO_WLIST_IN_SERVER, SHR_ID_ATTR_TYPE_MAX }
enum shr_id_type { SHR_ID_NOTIFY_TYPE, SHR_ID_EVENT_TYPE, SHR_ID_TYPE_MAX }

from ascend_hal*.h
macros { SHRID_NO_WLIST_ENABLE = 1, SHRID_WLIST_ENABLE = 0 }
"""
