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

/** For files in JSON with comments. */
export const commentForm = 'a comment begins with # here';

/** Settings that people expect at a place that has none of the kind, and where Culvert has them. */
const otherWays: readonly (readonly [place: RegExp, way: string])[] = [
  [/(?:^|\.)(?:\/\/|\/\*)/s, commentForm],
  [/^server\.(?:tls|ssl|https|certs?|certificates?)$/, 'a proxy in front ends TLS (docs/production.md)'],
  [
    /^models\.[^.]+\.(?:temperature|top_p|top_k|seed|stop|reasoning_effort|frequency_penalty|presence_penalty)$/,
    "`body` of an item of 'targets' sets it in every request, such as body: { temperature: 0.2 }",
  ],
  [
    /^models\.[^.]+\.(?:system|system_prompt|instructions|messages)$/,
    "'prompts' has texts that requests name (docs/prompts.md)",
  ],
  [/^models\.[^.]+\.tags?$/, 'keys have tags, and usage is summed by them'],
  [
    /\.windows\.(?:\d+\w*|minute|hour|hourly|day|daily|year|yearly)$/,
    'windows are 5h, week and month; rpm limits a minute, and calendar_budget the USD of a day',
  ],
  [/\.budget\.(?:\d+\w*|day|daily)$/, 'calendar_budget has a day'],
];

/** How Culvert does what a setting at this place would do; null: nobody knows what was meant. */
export function otherWay(path: readonly (string | number)[]): string | null {
  const place = path.map((step) => String(step).replaceAll('.', '_')).join('.');
  return otherWays.find(([form]) => form.test(place))?.[1] ?? null;
}

/** The same for `apiBase`, `api_base` and `api-base`. */
function plain(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}
