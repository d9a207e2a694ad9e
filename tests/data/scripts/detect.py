"""Reports chips the way detection scripts do: without initialising."""

import json

found = {"methods": []}
try:
    import acl
except ImportError:
    acl = None
if acl is not None:
    count, ret = acl.rt.get_device_count()
    if ret == 0 and count > 0:
        found["devices"] = count
        found["methods"].append("python_acl")
    found["chip"] = acl.get_soc_name()
print(json.dumps(found))
