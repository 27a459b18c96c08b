import type { z } from 'zod';
import { crossCheck } from './cross-check.ts';
import type { Env } from './environment.ts';
import { namedProviders } from './environment-providers.ts';
import type { PathProblem } from './problem.ts';
import { agentsSchema } from './schema/schema-agents.ts';
import { guardsSchema } from './schema/schema-guards.ts';
import { mcpServersSchema } from './schema/schema-mcp.ts';
import { modelsSchema } from './schema/schema-models.ts';
import { promptsSchema } from './schema/schema-prompts.ts';
import { providersSchema } from './schema/schema-providers.ts';
import { routesSchema } from './schema/schema-routes.ts';
import type {
  AgentConfig,
  Config,
  GuardConfig,
  McpServerConfig,
  ModelConfig,
  PromptConfig,
  ProviderConfig,
  RouteConfig,
} from './schema.ts';
import { checkAgainst } from './schema-issues.ts';

/** A provider, model, MCP server, agent, prompt, guard or rule for routes that was set up while Culvert ran, as the file would have it, secrets in their places. */
export interface StoredFragment {
  kind: 'provider' | 'model' | 'mcp' | 'prompt' | 'guard' | 'route' | 'agent';
  name: string;
  /** The definition in the form of `providers.NAME`, `models.NAME`, `mcp.servers.NAME`, `prompts.NAME`, `guards.NAME`, `routes.NAME` or `agents.NAME`. */
  definition: Readonly<Record<string, unknown>>;
}

export interface Merged {
  /** The file's configuration with the fragments that are in use. */
  config: Config;
  /** Fragments that are not in use, by `fragmentKey`. */
  left: ReadonlyMap<string, LeftOut>;
}

export type LeftOut =
  /** The file or the environment has one of this name. */
  | { kind: 'shadowed' }
  /** `path` begins in the fragment; empty for the fragment as a whole, its name too. */
  | ({ kind: 'unusable' } & PathProblem);

export function fragmentKey({ kind, name }: Pick<StoredFragment, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}

type Used = Pick<StoredFragment, 'kind' | 'name'> & {
  value: ProviderConfig | ModelConfig | McpServerConfig | PromptConfig | GuardConfig | RouteConfig | AgentConfig;
};

/**
 * Merges stored entries under the file's configuration: names of the file and the environment take precedence. Each
 * entry gets the checks of the file, and the whole gets the same cross-checks. An entry that does not fit is left out with everything
 * that refers to it, so that the file alone always works. Models that providers list stay separate models next
 * to stored ones.
 */
export function mergeStored(config: Config, fragments: readonly StoredFragment[], env: Env): Merged {
  const left = new Map<string, LeftOut>();
  if (fragments.length === 0) return { config, left };
  const base: Config = { ...config, providers: namedProviders(config, env) };
  let used: readonly Used[] = fragments.flatMap((fragment) => {
    const checked = checkFragment(base, fragment);
    if (checked.kind === 'used') return [checked.used];
    left.set(fragmentKey(fragment), checked);
    return [];
  });
  for (;;) {
    const misfits = misfitsOf(base, used);
    if (misfits.size === 0) return { config: merged(base, used), left };
    for (const [key, problem] of misfits) left.set(key, { kind: 'unusable', ...problem });
    used = used.filter((one) => !misfits.has(fragmentKey(one)));
  }
}

function checkFragment(
  base: Config,
  { kind, name, definition }: StoredFragment,
): LeftOut | { kind: 'used'; used: Used } {
  if (Object.hasOwn(tableOf(base, kind), name)) return { kind: 'shadowed' };
  if (kind === 'mcp' && Object.hasOwn(definition, 'command')) {
    return { kind: 'unusable', path: ['command'], message: 'only the configuration file can name a program' };
  }
  const schema: z.ZodType<Record<string, Used['value']>> = schemas[kind];
  const checked = checkAgainst(schema, { [name]: definition });
  if (checked.ok) return { kind: 'used', used: { kind, name, value: checked.value[name]! } };
  const { path, message } = checked.problems[0]!;
  return { kind: 'unusable', path: path.slice(1), message };
}

const schemas = {
  provider: providersSchema,
  model: modelsSchema,
  mcp: mcpServersSchema,
  prompt: promptsSchema,
  guard: guardsSchema,
  route: routesSchema,
  agent: agentsSchema,
};

/** The table of a configuration that holds fragments of this kind, and its path. */
export function tableOf(
  { providers, models, mcp, prompts, guards, routes, agents }: Config,
  kind: StoredFragment['kind'],
): Readonly<Record<string, unknown>> {
  const tables = { provider: providers, model: models, mcp: mcp.servers, prompt: prompts, guard: guards };
  return { ...tables, route: routes, agent: agents }[kind];
}

export const tablePath = {
  provider: ['providers'],
  model: ['models'],
  mcp: ['mcp', 'servers'],
  prompt: ['prompts'],
  guard: ['guards'],
  route: ['routes'],
  agent: ['agents'],
} as const;

function merged(base: Config, used: readonly Used[]): Config {
  const of = (kind: Used['kind']) =>
    Object.fromEntries(used.filter((one) => one.kind === kind).map(({ name, value }) => [name, value]));
  const storedProviders = of('provider') as Config['providers'];
  const storedModels = of('model') as Config['models'];
  const providers = { ...base.providers, ...withAllModels(storedProviders) };
  // The first alias that an operator makes must not take away every other model.
  const stay = Object.keys(base.models).length === 0 && Object.keys(storedModels).length > 0;
  return {
    ...base,
    providers: stay ? withAllModels(providers) : providers,
    models: { ...base.models, ...storedModels },
    prompts: { ...base.prompts, ...(of('prompt') as Config['prompts']) },
    guards: { ...base.guards, ...(of('guard') as Config['guards']) },
    routes: { ...base.routes, ...(of('route') as Config['routes']) },
    agents: { ...base.agents, ...(of('agent') as Config['agents']) },
    mcp: { ...base.mcp, servers: { ...base.mcp.servers, ...(of('mcp') as Config['mcp']['servers']) } },
  };
}

function withAllModels(providers: Config['providers']): Config['providers'] {
  return Object.fromEntries(
    Object.entries(providers).map(([name, provider]) => [
      name,
      { ...provider, all_models: provider.all_models ?? true },
    ]),
  );
}

/** Why fragments do not fit the whole, by their keys; of each the first reason. */
function misfitsOf(base: Config, used: readonly Used[]): Map<string, PathProblem> {
  const misfits = new Map<string, PathProblem>();
  const problems = problemsOf(base, used);
  for (const { path, message } of problems) {
    const key = used.map(fragmentKey).find((each) => each === `${kindAt(path)} ${path[1]}`);
    if (key !== undefined && !misfits.has(key)) misfits.set(key, { path: path.slice(2), message });
  }
  const [first] = problems;
  if (misfits.size > 0 || first === undefined) return misfits;
  // Something of the file fits no more: a model of the name that one of its fallbacks had found a pattern for.
  const models = used.filter(({ kind }) => kind === 'model');
  const providers = used.filter(({ kind }) => kind === 'provider');
  const guilty = models.filter((model) => problemsOf(base, [...providers, model]).length > 0);
  for (const model of guilty.length > 0 ? guilty : models) {
    misfits.set(fragmentKey(model), { path: [], message: `contradicts the configuration file: ${first.message}` });
  }
  return misfits;
}

function problemsOf(base: Config, used: readonly Used[]): PathProblem[] {
  return crossCheck(merged(base, used), { implicitProviders: [] }).filter(({ path }) => kindAt(path) !== undefined);
}

/** Undefined: its entries are checked alone. */
function kindAt([table]: PathProblem['path']): StoredFragment['kind'] | undefined {
  return (['provider', 'model', 'prompt', 'guard', 'route'] as const).find((kind) => tablePath[kind][0] === table);
}
