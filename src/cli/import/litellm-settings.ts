import { culvert } from '../../kernel/command-form.ts';
import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import type { Path } from './notes.ts';
import { amountOf, listOfTexts, secondsOf, textOf, type Values } from './plain-values.ts';

/** Converts what has a place here from the other sections than `model_list`. */
export interface Settings {
  /** Upstream attempts a request, the first included; null: not said. */
  attempts: number | null;
  timeouts: { total?: string; first_token?: string };
  /** In the order in which they count; `from` null: of every model without its own. */
  fallbacks: readonly Fallback[];
  /** Another name for a model. */
  aliases: readonly { alias: string; of: string; path: Path }[];
  adminKey: string | null;
}

export interface Fallback {
  from: string | null;
  to: readonly string[];
  path: Path;
}

type Section = 'litellm_settings' | 'router_settings' | 'general_settings';

const budget = 'a budget belongs to a plan: plans.NAME.budget, in USD a window';
const onFilter = 'callers get the answer of the filter; models.NAME.on_filter: next asks the next target instead';
const callbacks =
  'telemetry.loggers sends traces to Langfuse, Datadog and others, telemetry.otlp to any receiver, and telemetry.sinks every record';

/** Why settings have no place here, and what does their work. Those without words need none. */
const elsewhere: Readonly<Record<Section, readonly (readonly [names: string, why: string | null])[]>> = {
  litellm_settings: [
    [
      'drop_params modify_params set_verbose json_logs telemetry turn_off_message_logging redact_user_api_key_info',
      null,
    ],
    // litellm-cache.ts reads them.
    ['cache cache_params', null],
    ['max_budget budget_duration', budget],
    ['success_callback callbacks', callbacks],
    ['failure_callback', `${callbacks}; ${culvert} requests list --status 5 lists failures`],
    ['service_callbacks', '/metrics has the metrics'],
    ['content_policy_fallbacks', onFilter],
    ['ssl_verify ssl_certificate', 'providers.NAME.tls trusts more certificates; none goes unchecked'],
    ['custom_provider_map', 'a provider of type openai with a base_url asks a server of yours'],
    ['default_team_settings', 'accounts have plans in the place of teams'],
    ['default_team_params default_internal_user_params', 'new accounts have default_plan'],
    ['max_internal_user_budget internal_user_budget_duration', 'new accounts have the budget of default_plan'],
    ['default_key_generate_params', 'a new key has the limits of its account’s plan'],
    ['upperbound_key_generate_params', 'a key never has more than its account’s plan'],
    ['max_end_user_budget max_end_user_budget_id', 'accounts.NAME.budgets, with by: user, bounds each of them'],
  ],
  router_settings: [
    ['enable_pre_call_checks', null],
    ['content_policy_fallbacks', onFilter],
    ['provider_budget_config', budget],
    ['enable_tag_filtering', 'routes.NAME.when sends requests with a tag to some targets alone'],
    [
      'routing_strategy routing_strategy_args',
      'targets are picked by priority, weight and health; failing and slow targets are avoided',
    ],
    ['allowed_fails allowed_fails_policy disable_cooldowns', 'health is built in, for each target and credential'],
    ['cooldown_time', 'cooldowns follow the provider’s Retry-After'],
    ['retry_policy', 'Culvert decides which failures are worth another attempt; models.NAME.attempts sets how many'],
    ['retry_after', 'pauses between attempts are built in'],
    ['max_fallbacks', 'models.NAME.attempts bounds all attempts of a request'],
    ['redis_host redis_port redis_password redis_url', 'for several replicas: storage.state, a redis:// URL'],
  ],
  general_settings: [
    ['store_model_in_db disable_spend_logs', null],
    [
      'database_url',
      `it is LiteLLM’s own: ${culvert} import litellm --database reads it. A database for Culvert goes into storage.database`,
    ],
    ['max_parallel_requests global_max_parallel_requests', 'plans.NAME.concurrency bounds those of an account'],
    ['max_request_size_mb', 'server.body_limit and server.upload_limit bound what callers send'],
    ['allowed_ips', 'keys[].ips says from where a key works'],
    ['enforce_user_param', 'routes.NAME.when refuses requests by user == ""'],
    ['pass_through_endpoints', 'providers.NAME.passthrough offers other paths of a provider at /passthrough/NAME'],
    ['key_management_system key_management_settings', 'references read secret managers (docs/secrets.md)'],
    [
      'alerting alerting_threshold alerting_args alert_types alert_to_webhook_url',
      `telemetry.alerts sends alerts to Slack, mail and webhooks (${culvert} alerts test)`,
    ],
    ['background_health_checks', 'providers.NAME.health asks a server of yours regularly'],
    ['health_check_interval', 'providers.NAME.health.interval'],
    ['custom_auth', `callers have keys of Culvert (${culvert} keys create)`],
    ['enable_jwt_auth litellm_jwtauth', 'callers.tokens takes the tokens of an issuer'],
    ['user_header_name user_header_mappings', 'callers send x-culvert-user'],
  ],
};

function whyElsewhere(section: Section, name: string): string | null {
  const found = elsewhere[section].find(([names]) => names.split(' ').includes(name));
  return found === undefined ? 'there is no such setting here' : found[1];
}

export function readSettings(values: Values, root: JsonObject): Settings {
  const lite = objectIn(root.litellm_settings);
  const router = objectIn(root.router_settings);
  const general = objectIn(root.general_settings);
  const taken = new Set<string>();
  /** The router's word goes before the library's. */
  const first = <T>(names: readonly string[], read: (value: unknown, path: Path) => T | null): T | null => {
    let found: T | null = null;
    for (const [section, of] of [
      ['router_settings', router],
      ['litellm_settings', lite],
    ] as const) {
      for (const name of names) {
        if (of[name] === undefined || of[name] === null) continue;
        taken.add(`${section}.${name}`);
        if (found !== null)
          values.notes.add([section, name], 'not carried over: router_settings has it too, and takes precedence');
        found ??= read(of[name], [section, name]);
      }
    }
    return found;
  };
  const retries = first(['num_retries'], (value, path) => amountOf(values, value, path));
  const total = first(['timeout', 'request_timeout'], (value, path) => secondsOf(values, value, path));
  const firstToken = first(['stream_timeout'], (value, path) => secondsOf(values, value, path));
  const settings: Settings = {
    attempts: retries === null ? null : Math.min(8, Math.max(1, Math.round(retries) + 1)),
    timeouts: { ...(total !== null && { total }), ...(firstToken !== null && { first_token: firstToken }) },
    fallbacks: fallbacksOf(values, lite, router, taken),
    aliases: aliasesOf(router, taken),
    adminKey: adminKeyOf(values, general.master_key),
  };
  taken.add('general_settings.master_key');
  for (const section of ['litellm_settings', 'router_settings', 'general_settings'] as const) {
    for (const [name, value] of Object.entries(objectIn(root[section]))) {
      if (value === null) continue;
      const why = whyElsewhere(section, name);
      if (why !== null && !taken.has(`${section}.${name}`))
        values.notes.add([section, name], `not carried over: ${why}`);
    }
  }
  return settings;
}

function fallbacksOf({ notes }: Values, lite: JsonObject, router: JsonObject, taken: Set<string>): Fallback[] {
  const found: Fallback[] = [];
  for (const name of ['fallbacks', 'context_window_fallbacks', 'default_fallbacks']) {
    for (const [section, of] of [
      ['router_settings', router],
      ['litellm_settings', lite],
    ] as const) {
      const value = of[name];
      if (value === undefined || value === null) continue;
      taken.add(`${section}.${name}`);
      const path = [section, name];
      if (name === 'default_fallbacks') {
        found.push({ from: null, to: listOfTexts(value), path });
        continue;
      }
      if (name === 'context_window_fallbacks') {
        notes.add(
          path,
          'carried over as fallbacks, which are used after any failure; a request is not sent where it does not fit the context',
        );
      }
      const maps = Array.isArray(value) ? value : [value];
      maps.forEach((map, index) => {
        for (const [from, to] of Object.entries(objectIn(map))) {
          const at = Array.isArray(value) ? [...path, index] : path;
          const texts = listOfTexts(to);
          found.push({ from: from === '*' ? null : from, to: texts, path: [...at, from] });
          if (Array.isArray(to) && texts.length < to.length)
            notes.add(
              [...at, from],
              'fallbacks with parameters are not carried over: a fallback is the name of a model here',
            );
        }
      });
    }
  }
  return found;
}

function aliasesOf(router: JsonObject, taken: Set<string>): Settings['aliases'] {
  taken.add('router_settings.model_group_alias');
  return Object.entries(objectIn(router.model_group_alias)).flatMap(([alias, value]) => {
    const of = isObject(value) ? value.model : value;
    return typeof of === 'string' ? [{ alias, of, path: ['router_settings', 'model_group_alias', alias] }] : [];
  });
}

/** LiteLLM's master key calls models too; here it opens the admin API alone. */
function adminKeyOf(values: Values, value: unknown): string | null {
  const path = ['general_settings', 'master_key'];
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  if (text !== '' && !text.startsWith('os.environ/') && text.length < adminKeyCharsMin) {
    values.notes.add(
      path,
      `not carried over: an admin key has at least ${adminKeyCharsMin} characters; one is generated`,
    );
    return null;
  }
  const key = textOf(values, value, path, 'secret', 'CULVERT_ADMIN_KEY');
  if (key !== null) {
    values.notes.add(
      path,
      `becomes admin.key, which calls no models; callers need other keys (${culvert} keys create)`,
    );
  }
  return key;
}

const adminKeyCharsMin = 16;
