"""`convert`: a hierarchy of any format into any format that can be written.

job          the function itself, and what `rechunk` shares with it
plan         what is to be done to every node, as facts
planning     decides it, before anything is written
walking      the nodes of the source, without those that are excluded
overlaps     whether source and destination overlap
regions      which chunks a region touches
chunks       the chunks of an array as numbered portions of work
damage       chunks that cannot be decoded, and what can be saved around them
destination  what may be at the destination, and what is removed
execution    executes the plan; safe to interrupt
intermediates  arrays between two passes over one array (see `jobs.rechunking`)
in_place     new documents in place, chunks untouched
report       what was done
"""
