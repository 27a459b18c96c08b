import { carriedDialects, providerTypes } from '../formats/providers/catalog.ts';
import { knownEntry } from '../kernel/known-entry.ts';
import { builtInProvider } from './built-in-models.ts';
import { checkGuards } from './cross-check-guards.ts';
import { checkModels } from './cross-check-models.ts';
import { checkPlans } from './cross-check-plans.ts';
import { checkPrompts } from './cross-check-prompts.ts';
import { checkRoutes } from './cross-check-routes.ts';
import { credentialsOf } from './declared.ts';
import type { PathProblem } from './problem.ts';
import type { Config, ProviderConfig } from './schema.ts';

export interface CrossCheckOptions {
  /** Providers that exist without standing in the file, such as those of the environment. */
  implicitProviders: readonly string[];
}

/** Problems that no single value shows: missing names, equal secrets, things that exclude each other. */
export function crossCheck(config: Config, options: CrossCheckOptions): PathProblem[] {
  return [
    ...checkStorage(config),
    ...checkProviders(config),
    ...checkModels(config, options.implicitProviders),
    ...checkPrompts(config),
    ...checkRoutes(config, options.implicitProviders),
    ...checkGuards(config),
    ...checkPlans(config),
    ...checkKeys(config),
    ...checkTools(config),
    ...checkMail(config),
    ...checkSaml(config),
  ];
}

function checkStorage({ server: { processes }, storage }: Config): PathProblem[] {
  const problems: PathProblem[] = [];
  if (processes !== 'auto' && processes > 1 && storage.database !== 'sqlite' && storage.state === 'memory') {
    const message = `${processes} processes share their limits over Redis where the ledger is in PostgreSQL: set storage.state to redis://…, or set this to 1`;
    problems.push({ path: ['server', 'processes'], message });
  }
  if (storage.state === 'memory') return problems;
  if (storage.database === 'sqlite') {
    const message = 'Redis state needs a PostgreSQL database: replicas cannot share SQLite';
    problems.push({ path: ['storage', 'state'], message });
  }
  if (storage.secret === undefined) {
    const message =
      'replicas need storage.secret, the same on all of them, to read what another replica sealed (openssl rand -base64 32 makes one)';
    problems.push({ path: ['storage', 'state'], message });
  }
  return problems;
}

function checkProviders({ providers }: Config): PathProblem[] {
  const problems: PathProblem[] = [];
  for (const [name, provider] of Object.entries(providers)) {
    const path = ['providers', name];
    if (name === builtInProvider) problems.push({ path, message: 'Culvert itself uses this name; take another one' });
    if (provider.type === 'azure-openai' && provider.base_url === undefined) {
      problems.push({ path, message: 'azure-openai needs base_url, such as https://NAME.openai.azure.com' });
    }
    if (provider.iam_url !== undefined && providerTypes.get(provider.type)?.auth !== 'ibm-iam') {
      problems.push({ path: [...path, 'iam_url'], message: `type ${provider.type} takes no tokens of IBM Cloud` });
    }
    problems.push(...checkCallersCredential(provider, path));
    const { auth, regional } = providerTypes.get(provider.type) ?? {};
    if (auth === 'none' && regional !== undefined && credentialsOf(provider).length > 0) {
      const message = `type ${provider.type} takes no key; put AWS credentials into aws`;
      problems.push({ path: [...path, 'api_key'], message });
    }
    for (const issuer of ['entra', 'google'] as const) {
      if (provider[issuer] === undefined) continue;
      if (providerTypes.get(provider.type)?.tokens?.id !== issuer) {
        const message = `type ${provider.type} takes no such tokens; leave ${issuer} out`;
        problems.push({ path: [...path, issuer], message });
      } else if (credentialsOf(provider).length > 0) {
        problems.push({ path: [...path, issuer], message: `${issuer} and a key exclude each other` });
      }
    }
    if (provider.api_key !== undefined && provider.credentials !== undefined) {
      problems.push({ path: [...path, 'credentials'], message: 'give either api_key or credentials, not both' });
    }
    const ids = new Map<string, number>();
    provider.credentials?.forEach(({ id }, index) => {
      const twin = id === undefined ? undefined : ids.get(id);
      if (twin !== undefined) {
        problems.push({ path: [...path, 'credentials', index, 'id'], message: `credentials[${twin}] has this id too` });
      } else if (id !== undefined) ids.set(id, index);
    });
    const { cert, key } = provider.tls ?? {};
    if ((cert === undefined) !== (key === undefined)) {
      problems.push({ path: [...path, 'tls'], message: 'cert and key need each other' });
    }
    provider.dialects?.forEach((dialect, index) => {
      const message = contradiction(provider, dialect);
      if (message !== null) problems.push({ path: [...path, 'dialects', index], message });
    });
  }
  return problems;
}

/** Finds settings that exclude credentials of callers. */
function checkCallersCredential(provider: ProviderConfig, path: PathProblem['path']): PathProblem[] {
  if (!provider.caller_credential) return [];
  const type = providerTypes.get(provider.type);
  if (type?.callers === undefined) {
    const message = `type ${provider.type} takes no credential of callers; only types anthropic and openai do`;
    return [{ path: [...path, 'caller_credential'], message }];
  }
  const { proofs } = type.callers;
  const excluded = [
    ['api_key', provider.api_key !== undefined],
    ['credentials', provider.credentials !== undefined],
    ['passthrough', provider.passthrough],
    ['object_apis', provider.object_apis.length > 0],
    ['health', provider.health !== undefined],
    ['headers', Object.keys(provider.headers).some((name) => proofs.some((proof) => proof === name.toLowerCase()))],
  ] as const;
  return excluded.flatMap(([member, isThere]) => {
    const message = `caller_credential excludes ${member}: requests to it carry the caller's own credential and no other`;
    return isThere ? [{ path: [...path, member], message }] : [];
  });
}

function checkKeys(config: Config): PathProblem[] {
  const problems: PathProblem[] = [];
  const byIdentity = new Map<string, number>();
  const bySecret = new Map<string, number>();
  const planOfAccount = new Map<string, string>();
  for (const [account, { plan }] of Object.entries(config.accounts)) {
    if (plan !== undefined) planOfAccount.set(account, plan);
  }
  config.keys.forEach((key, index) => {
    const identity = `${key.account}/${key.name}`;
    const twin = byIdentity.get(identity);
    if (twin === undefined) byIdentity.set(identity, index);
    else
      problems.push({
        path: ['keys', index],
        message: `keys[${twin}] has the same account and name; give this key another name`,
      });

    const secret = key.key ?? key.sha256!;
    const field = key.key === undefined ? 'sha256' : 'key';
    const same = bySecret.get(secret);
    if (same === undefined) bySecret.set(secret, index);
    else problems.push({ path: ['keys', index, field], message: `keys[${same}].${field} is the same secret` });
    if (secret === config.admin.key) {
      problems.push({ path: ['keys', index, field], message: 'admin.key is the same secret' });
    }

    if (key.plan === undefined) return;
    const planBefore = planOfAccount.get(key.account);
    if (planBefore === undefined) planOfAccount.set(key.account, key.plan);
    else if (planBefore !== key.plan) {
      problems.push({
        path: ['keys', index, 'plan'],
        message: 'its account has another plan; a plan belongs to the account',
      });
    }
  });
  return problems;
}

function checkTools({ vectors, tools }: Config): PathProblem[] {
  const problems: PathProblem[] = [];
  if (vectors.engine === 'qdrant' && vectors.url === undefined) {
    problems.push({ path: ['vectors', 'engine'], message: 'qdrant needs url' });
  }
  tools.search.providers.forEach((provider, index) => {
    const path = ['tools', 'search', 'providers', index];
    if (provider.type === 'searxng' && provider.base_url === undefined) {
      problems.push({ path, message: 'searxng needs base_url' });
    }
    if (provider.type !== 'searxng' && provider.type !== 'corpus' && provider.api_key === undefined) {
      problems.push({ path, message: `${provider.type} needs api_key` });
    }
  });
  return problems;
}

function checkSaml({ server, dashboard }: Config): PathProblem[] {
  if (dashboard.saml === undefined || server.public_url !== undefined) return [];
  // By the Host header, a caller could choose whose assertions are good here.
  const message = 'SAML needs server.public_url: assertions name the address that they are for';
  return [{ path: ['dashboard', 'saml'], message }];
}

function checkMail({ server, telemetry }: Config): PathProblem[] {
  if (server.smtp !== undefined) return [];
  const message = 'mail needs server.smtp: { url, from }';
  return (['alerts', 'statements'] as const).flatMap((kind) =>
    telemetry[kind].to.flatMap(({ email }, index) =>
      email === undefined ? [] : [{ path: ['telemetry', kind, 'to', index, 'email'], message }],
    ),
  );
}

type DialectName = NonNullable<ProviderConfig['dialects']>[number];

/** Why `dialect` cannot be spoken to this provider, with the fix; null when it can. */
function contradiction(provider: Pick<ProviderConfig, 'type' | 'base_url'>, dialect: DialectName): string | null {
  const { type } = provider;
  const carried = carriedDialects(knownEntry(providerTypes, type));
  if (carried.length === 0) return `type ${type} has no chat models; leave dialects out`;
  if (!carried.includes(dialect)) {
    const fix = typeThatSpeaks[dialect];
    return `type ${type} does not speak ${dialect}, only ${carried.join(', ')}; for a server that speaks it take type ${fix} with its base_url`;
  }
  if (type === 'openai' && provider.base_url === undefined && dialect === 'anthropic-messages') {
    return "OpenAI's own service does not speak anthropic-messages; give the base_url of a server that does";
  }
  return null;
}

const typeThatSpeaks = {
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  'anthropic-messages': 'anthropic',
  gemini: 'gemini',
  'bedrock-converse': 'bedrock',
  'cohere-chat': 'cohere',
} as const satisfies Record<DialectName, ProviderConfig['type']>;
