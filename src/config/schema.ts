import { z } from 'zod';
import { name, someText } from './scalars.ts';
import { accountsSchema, keysSchema, type partBudgets } from './schema/schema-accounts.ts';
import { type agentSchema, agentsSchema } from './schema/schema-agents.ts';
import { callersSchema } from './schema/schema-callers.ts';
import { dashboardSchema } from './schema/schema-dashboard.ts';
import type { dataRuleSchema } from './schema/schema-data.ts';
import { type guardSchema, guardsSchema } from './schema/schema-guards.ts';
import { type hookSchema, hooksSchema } from './schema/schema-hooks.ts';
import { mcpSchema, type mcpServerSchema } from './schema/schema-mcp.ts';
import { type capabilitiesSchema, type modelSchema, modelsSchema, type targetSchema } from './schema/schema-models.ts';
import type { keyLimitsSchema, planSchema } from './schema/schema-plans.ts';
import { costsSchema, limitsSchema, plansSchema, pricesSchema, tiersSchema } from './schema/schema-plans.ts';
import { type promptSchema, promptsSchema, type versionSchema } from './schema/schema-prompts.ts';
import type { credentialSchema, providerSchema, timeoutsSchema } from './schema/schema-providers.ts';
import { providersSchema } from './schema/schema-providers.ts';
import { type routeSchema, routesSchema } from './schema/schema-routes.ts';
import type { s3Schema } from './schema/schema-server.ts';
import { adminSchema, batchesSchema, fetchSchema, serverSchema, storageSchema } from './schema/schema-server.ts';
import { telemetrySchema } from './schema/schema-telemetry.ts';
import { toolsSchema, vectorsSchema } from './schema/schema-tools.ts';

/**
 * The whole of culvert.yaml, once: types, defaults, error messages, JSON Schema and docs/configuration.md come from
 * here. Field names are those of the file; durations are ms, sizes bytes, dates ms since the epoch, shares 0–1.
 */
export const configSchema = z.strictObject({
  server: serverSchema.prefault({}),
  admin: adminSchema.prefault({}),
  dashboard: dashboardSchema.prefault({}),
  storage: storageSchema.prefault({}),
  providers: providersSchema,
  models: modelsSchema,
  guards: guardsSchema,
  hooks: hooksSchema,
  prompts: promptsSchema,
  routes: routesSchema,
  tiers: tiersSchema,
  plans: plansSchema,
  default_plan: name("a plan's name").default('default').describe('Plan of accounts that name none.'),
  accounts: accountsSchema,
  keys: keysSchema,
  callers: callersSchema.prefault({}),
  costs: costsSchema.prefault({}),
  prices: pricesSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  batches: batchesSchema.prefault({}),
  vectors: vectorsSchema.prefault({}),
  tools: toolsSchema.prefault({}),
  mcp: mcpSchema.prefault({}),
  agents: agentsSchema,
  fetch: fetchSchema.prefault({}),
  telemetry: telemetrySchema.prefault({}),
  include: z
    .array(someText(1_024))
    .max(64)
    .default([])
    .describe(
      'Files with more providers, models, guards, prompts, routes, tiers, plans, accounts and keys, and folders of such `.yaml` files. Relative to this file.',
    ),
  simulator: z
    .enum(['auto', 'off', 'on'])
    .default('auto')
    .describe(
      'Labelled simulated answers for capabilities without any provider. auto: only when listening on loopback. CULVERT_SIMULATOR sets it where the file does not.',
    ),
  autodetect: z
    .enum(['ask', 'on', 'off'])
    .default('ask')
    .describe('Whether model servers found on this machine are used.'),
});

type Checked = z.output<typeof configSchema>;
/** A checked configuration with every default filled in. */
export type Config = Omit<Checked, 'keys'> & {
  keys: (Checked['keys'][number] & {
    /** The variable CULVERT_API_KEY, where the file declares no key. */
    from?: 'environment';
  })[];
};
export type ProviderConfig = z.output<typeof providerSchema>;
export type CredentialConfig = z.output<typeof credentialSchema>;
/** All in ms; undefined = taken from the level below. */
export type TimeoutsConfig = z.output<typeof timeoutsSchema>;
export type ModelConfig = z.output<typeof modelSchema>;
export type GuardConfig = z.output<typeof guardSchema>;
export type HookConfig = z.output<typeof hookSchema>;
export type QualityConfig = NonNullable<ModelConfig['quality']>;
export type ModelType = ModelConfig['type'];
export type RouteConfig = z.output<typeof routeSchema>;
export type PromptConfig = z.output<typeof promptSchema>;
export type PromptVersion = z.output<typeof versionSchema>;
export type TargetConfig = z.output<typeof targetSchema>;
export type CapabilitiesConfig = z.output<typeof capabilitiesSchema>;
export type AgentConfig = z.output<typeof agentSchema>;
export type McpServerConfig = z.output<typeof mcpServerSchema>;
export type PlanConfig = z.output<typeof planSchema>;
export type AlertReceiver = Checked['telemetry']['alerts']['to'][number];
export type SinkConfig = Checked['telemetry']['sinks'][number];
export type S3Config = z.output<typeof s3Schema>;
export type KeyLimitsConfig = z.output<typeof keyLimitsSchema>;
/** Which providers may get requests of a plan, an account or a key. */
export type DataRuleConfig = NonNullable<z.output<typeof dataRuleSchema>>;
/** A budget of an account by end user, tag or model. */
export type PartBudgetConfig = z.output<ReturnType<typeof partBudgets>>[number];
