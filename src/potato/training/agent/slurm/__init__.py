"""A worker as a SLURM job: submitted from a login node, followed through files on storage that the nodes share.

Only `sbatch`, `squeue`, `scancel` are needed, and `scontrol` where the cluster has it.
"""
