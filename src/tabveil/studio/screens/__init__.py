"""The screens, one file each, in the order of the job."""
