import type { z } from 'zod';
import { providerTypes } from '../formats/providers/catalog.ts';
import { dayMs } from '../kernel/clock.ts';
import { isLoopback } from './loopback-host.ts';
import type { dataFactsSchema } from './schema/schema-data.ts';
import type { DataRuleConfig, GuardConfig, ProviderConfig } from './schema.ts';

type WrittenFacts = z.output<typeof dataFactsSchema>;

/** Region, training and retention of a service; null: nobody knows. */
export interface DataFacts {
  region: string | null;
  trains: boolean | null;
  /** 0: it keeps none. */
  retentionMs: number | null;
}

/** A rule in force, and whose it is. */
export interface DataRule extends DataRuleConfig {
  /** Such as `account acme`. */
  of: string;
}

/** Facts of what runs on this machine: requests do not leave it. */
export const builtInData: DataFacts = { region: 'local', trains: false, retentionMs: 0 };

/** Facts of a service for a request that makes it keep something, such as a file. */
export function keeping(facts: DataFacts): DataFacts {
  return { ...facts, retentionMs: null };
}

/** Facts of a service that says nothing. */
export const unknownData: DataFacts = { region: null, trains: null, retentionMs: null };

/** Vendors' documents on their APIs for paying customers, at their own addresses. */
const documented: Partial<Record<ProviderConfig['type'], Partial<DataFacts>>> = {
  openai: { trains: false, retentionMs: 30 * dayMs },
  anthropic: { trains: false, retentionMs: 30 * dayMs },
  'azure-openai': { trains: false, retentionMs: 30 * dayMs },
  bedrock: { trains: false, retentionMs: 0 },
  vertex: { trains: false },
};

/** Addresses of vendors that name the customer or the region. */
const vendorHosts: Partial<Record<ProviderConfig['type'], RegExp>> = {
  'azure-openai': /\.azure\.(com|us)$/,
  bedrock: /\.amazonaws\.com$/,
  vertex: /\.googleapis\.com$/,
};

/** Profiles of Bedrock that spread requests over the regions of a part of the world, or over all. */
const bedrockProfile = /^(?:.*\/)?(global|us|us-gov|eu|apac|jp|au|ca)\./;

/** Facts of a provider, or of a target of it that says otherwise. */
export function dataFactsOf(
  { type, base_url: customBaseUrl, region, data }: Pick<ProviderConfig, 'type' | 'base_url' | 'region' | 'data'>,
  { model = '', data: ofTarget }: { model?: string; data?: WrittenFacts } = {},
): DataFacts {
  const url = customBaseUrl ?? providerTypes.get(type)?.baseUrl ?? null;
  const host = url === null ? '' : new URL(url).hostname;
  const isHere = isLoopback(host);
  const isAtHome = customBaseUrl === undefined || vendorHosts[type]?.test(host) === true;
  const [, spread] = (type === 'bedrock' && bedrockProfile.exec(model)) || [];
  const known = isHere ? builtInData : isAtHome ? documented[type] : undefined;
  const written = { ...data, ...ofTarget };
  return {
    region: written.region ?? spread ?? region ?? known?.region ?? null,
    trains: written.trains ?? known?.trains ?? null,
    retentionMs: retentionOf(written) ?? known?.retentionMs ?? null,
  };
}

/** Facts of a service that only says them itself. */
export function writtenFacts(data: WrittenFacts, url?: string): DataFacts {
  const known = url !== undefined && isLoopback(new URL(url).hostname) ? builtInData : null;
  return {
    region: data?.region ?? known?.region ?? null,
    trains: data?.trains ?? known?.trains ?? null,
    retentionMs: retentionOf(data ?? {}) ?? known?.retentionMs ?? null,
  };
}

/** Facts of the service that a guard asks; null: it asks none, or models of this server. */
export function guardDataFacts({ check, url, data, region, template }: GuardConfig): DataFacts | null {
  switch (check) {
    case 'openai-moderation':
      return dataFactsOf({ type: 'openai', base_url: url, data });
    case 'bedrock-guardrails':
      return dataFactsOf({ type: 'bedrock', base_url: url, region, data });
    case 'model-armor':
      return dataFactsOf({ type: 'vertex', base_url: url, region: template?.split('/')[3], data });
    case 'webhook':
    case 'azure-content-safety':
    case 'presidio':
    case 'lakera':
      return writtenFacts(data, url);
    default:
      return null;
  }
}

function retentionOf({ retention }: NonNullable<WrittenFacts>): number | undefined {
  return retention === 'none' ? 0 : retention;
}

/** Why a service may not get requests under these rules, with the rule's owner; null: it may. */
export function dataBar(rules: readonly DataRule[], facts: DataFacts): string | null {
  for (const { of, regions, no_training, zero_retention } of rules) {
    const broken =
      (regions !== undefined && !isIn(facts.region, regions) && 'region') ||
      (no_training && facts.trains !== false && 'training') ||
      (zero_retention && facts.retentionMs !== 0 && 'retention');
    if (broken) return `${broken} (${of})`;
  }
  return null;
}

/** Whether a rule forbids anything; null and undefined forbid nothing. */
export function isBinding(rule: DataRuleConfig | null | undefined): rule is DataRuleConfig {
  return rule != null && (rule.regions !== undefined || rule.no_training || rule.zero_retention);
}

/** Whether a rule forbids all that another one forbids. Null: it forbids nothing. */
export function isAsStrict(rule: DataRuleConfig | null, other: DataRuleConfig | null): boolean {
  if (other === null) return true;
  const { regions: outer } = other;
  return (
    (outer === undefined || rule?.regions?.every((region) => isIn(region, outer)) === true) &&
    (!other.no_training || rule?.no_training === true) &&
    (!other.zero_retention || rule?.zero_retention === true)
  );
}

/** Whether a region is one of these, or within one. This machine is in each. */
function isIn(region: string | null, regions: readonly string[]): boolean {
  return (
    region === builtInData.region || regions.some((one) => region === one || region?.startsWith(`${one}-`) === true)
  );
}
