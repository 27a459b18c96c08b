/** Settings here, with the names that LiteLLM, Portkey and SDKs have for them. Those with a dot are whole paths. */
const namesElsewhere: Readonly<Record<string, readonly string[]>> = {
  'admin.key': ['master_key', 'admin_key'],
  'models.<name>.cache': ['caching'],
  'server.processes': ['workers', 'num_workers'],
  'storage.database': ['database_url'],
  'storage.state': ['redis', 'redis_url'],
  api_key: ['key'],
  attempts: ['retries', 'num_retries', 'max_retries'],
  base_url: ['api_base', 'endpoint'],
  budget: ['max_budget', 'spend_limit'],
  concurrency: ['max_parallel_requests'],
  guards: ['guardrails'],
  max_output_tokens: ['max_tokens'],
  port: ['listen'],
  rpm: ['rpm_limit', 'requests_per_minute'],
  tpm: ['tpm_limit', 'tokens_per_minute'],
};

/** The setting that `key` means: itself, one of `known` by another name, or a whole path. Null for any other. */
export function settingMeant(key: string, known: readonly string[]): string | null {
  if (known.includes(key)) return key;
  const word = plain(key);
  for (const [setting, names] of Object.entries(namesElsewhere)) {
    if (!known.includes(setting) && !setting.includes('.')) continue;
    if ([setting, ...names].some((name) => plain(name) === word)) return setting;
  }
  return null;
}

/** The same for `apiBase`, `api_base` and `api-base`. */
function plain(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}
