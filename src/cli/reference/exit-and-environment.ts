/** Exit codes of every command. */
export const exitCodes = [
  ['0', 'it is done'],
  ['1', 'it failed, or it found a problem'],
  ['2', 'it was called wrongly; nothing was done'],
  ['130', 'Ctrl-C ended it'],
] as const;

/** Variables that replace options; docs/configuration.md has those that replace keys of the configuration. */
export const environment = [
  ['CULVERT_CONFIG', 'configuration file, where --config names none'],
  ['CULVERT_URL', 'server to talk to, where --url names none'],
  ['CULVERT_API_KEY', 'key for models, chat and bench; unlike --key it does not show in the process list'],
  ['CULVERT_ADMIN_KEY', "key for everything else (default: the configuration's, or the data folder's)"],
  ['NO_COLOR', 'any value: the log of start has no colours on a terminal; FORCE_COLOR=1 has them on every one'],
] as const;
