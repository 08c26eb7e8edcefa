"""What a user calls: open, create, save, load, copy, check. `omnizarr` has these names itself."""
