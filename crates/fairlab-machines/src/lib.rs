//! Machine models from sysfs, archives, hwloc XML, JSON and short specs
