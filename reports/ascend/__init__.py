"""Files extracted from Ascend tables of kernels."""
