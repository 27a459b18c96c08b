import type { AgentConfig } from '../../config/schema.ts';
import { isObject, type JsonObject, type JsonValue, listIn, objectIn, stringOr } from '../../kernel/json.ts';
import type { A2aVersion } from './methods.ts';

/** Where an agent takes messages of one version. */
export interface AgentInterface {
  url: URL;
  /** The word by which the agent tells those that it serves there apart; null: it wants none. */
  tenant: string | null;
}

/** An agent's card, and what of it matters here. */
export interface AgentCard {
  card: JsonObject;
  /** Its JSON-RPC interfaces. */
  interfaces: Readonly<Partial<Record<A2aVersion, AgentInterface>>>;
  streams: boolean;
}

/** Address of an agent's card. */
export function cardUrlOf({ url: written }: Pick<AgentConfig, 'url'>): URL {
  const url = new URL(written);
  if (!url.pathname.endsWith('.json')) url.pathname = `${url.pathname.replace(/\/+$/, '')}/.well-known/agent-card.json`;
  return url;
}

/** Reads a card in the form of either version. The string says why it is of no use. */
export function readAgentCard(card: JsonObject, config: Pick<AgentConfig, 'url' | 'endpoint'>): AgentCard | string {
  const interfaces: Partial<Record<A2aVersion, AgentInterface>> = {};
  for (const { binding, version, address, tenant } of writtenInterfaces(card)) {
    if (binding.toUpperCase() !== 'JSONRPC' || version === null || interfaces[version] !== undefined) continue;
    const url = config.endpoint === undefined ? placeOf(address, config.url) : new URL(config.endpoint);
    if (url !== null) interfaces[version] = { url, tenant };
  }
  if (Object.keys(interfaces).length === 0) return 'has a card that names no JSON-RPC interface of A2A 1.0 or 0.3';
  return { card, interfaces, streams: objectIn(card.capabilities).streaming === true };
}

function writtenInterfaces(
  card: JsonObject,
): { binding: string; version: A2aVersion | null; address: JsonValue | undefined; tenant: string | null }[] {
  const entries = [...listIn(card.supportedInterfaces)].filter(isObject).map((one) => ({
    binding: stringOr(one.protocolBinding, ''),
    version: versionOf(stringOr(one.protocolVersion, '')),
    address: one.url,
    tenant: stringOr(one.tenant, '') || null,
  }));
  // Before 1.0 a card has one address, and perhaps more.
  const earlier = [
    { transport: stringOr(card.preferredTransport, '') || 'JSONRPC', url: card.url },
    ...listIn(card.additionalInterfaces).filter(isObject),
  ].map((one) => ({ binding: stringOr(one.transport, ''), version: '0.3' as const, address: one.url, tenant: null }));
  return [...entries, ...earlier.filter(({ address }) => typeof address === 'string')];
}

function versionOf(written: string): A2aVersion | null {
  if (/^1(\.|$)/.test(written)) return '1.0';
  return written === '' || /^0\.[23](\.|$)/.test(written) ? '0.3' : null;
}

/** Cards often name an address that only the agent's own machine knows: the operator's url says where that is. */
function placeOf(address: JsonValue | undefined, url: string): URL | null {
  if (typeof address !== 'string' || !URL.canParse(address, url)) return null;
  const { pathname, search } = new URL(address, url);
  return new URL(pathname + search, new URL(url).origin);
}

export interface ShownCardParts {
  name: string;
  config: Pick<AgentConfig, 'url' | 'endpoint'>;
  /** Where callers reach the agent. */
  address: string;
  /** The version in whose form the caller reads cards; null: it did not say, and gets those of both. */
  version: A2aVersion | null;
  /** Words that no caller may see. */
  secrets: readonly string[];
}

const bearer = 'A key of this gateway.';

/**
 * The card for callers: what the agent can do, behind the address and the key of this gateway. Members are taken one
 * by one, so that none shows where the agent is and how it is reached.
 */
export function shownCard({ card, interfaces }: AgentCard, parts: ShownCardParts): JsonObject {
  const { address, name } = parts;
  const places = [parts.config.url, parts.config.endpoint].flatMap((url) => (url === undefined ? [] : new URL(url)));
  const speaks = (version: A2aVersion) => interfaces[version] !== undefined;
  const isEarlier = !speaks('1.0') || (parts.version !== '1.0' && speaks('0.3'));
  const isPresent = speaks('1.0') && (parts.version !== '0.3' || !speaks('0.3'));
  const link = (url: JsonValue | undefined) =>
    typeof url === 'string' && URL.canParse(url) && !places.some(({ host }) => host === new URL(url).host)
      ? url
      : undefined;
  const { provider } = card;
  const capabilities = objectIn(card.capabilities);
  // Clients ask for the extended card only where the card names one.
  const isExtended = capabilities.extendedAgentCard === true || card.supportsAuthenticatedExtendedCard === true;
  const shown = {
    name: stringOr(card.name, '') || name,
    description: stringOr(card.description, ''),
    version: stringOr(card.version, ''),
    provider: isObject(provider)
      ? { organization: stringOr(provider.organization, ''), url: link(provider.url) ?? '' }
      : undefined,
    documentationUrl: link(card.documentationUrl),
    iconUrl: link(card.iconUrl),
    capabilities: {
      streaming: capabilities.streaming === true,
      pushNotifications: false,
      ...(Array.isArray(capabilities.extensions) && { extensions: capabilities.extensions }),
      ...(isExtended && isPresent && { extendedAgentCard: true }),
    },
    defaultInputModes: listIn(card.defaultInputModes),
    defaultOutputModes: listIn(card.defaultOutputModes),
    skills: listIn(card.skills).filter(isObject).map(shownSkill),
    ...(isEarlier && isExtended && { supportsAuthenticatedExtendedCard: true }),
    ...(isEarlier && {
      ...{ protocolVersion: '0.3.0', url: address, preferredTransport: 'JSONRPC' },
      security: [{ culvert: [] }],
    }),
    ...(isPresent && {
      supportedInterfaces: (['1.0', '0.3'] as const)
        .filter(speaks)
        .map((protocolVersion) => ({ url: address, protocolBinding: 'JSONRPC', protocolVersion })),
      securityRequirements: [{ schemes: { culvert: { list: [] } } }],
    }),
    securitySchemes: {
      culvert: {
        ...(isEarlier && { type: 'http', scheme: 'bearer', description: bearer }),
        ...(isPresent && { httpAuthSecurityScheme: { scheme: 'Bearer', description: bearer } }),
      },
    },
  } as JsonObject;
  return withoutWords(shown, [...places.map(({ origin }) => origin), ...parts.secrets]) as JsonObject;
}

const skillMembers = ['id', 'name', 'description', 'tags', 'examples', 'inputModes', 'outputModes'];

function shownSkill(skill: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(skill).filter(([name]) => skillMembers.includes(name)));
}

/** The value without these words, in whatever text it has them. */
function withoutWords(value: JsonValue | undefined, words: readonly string[]): JsonValue | undefined {
  if (typeof value === 'string') return words.reduce((text, word) => text.replaceAll(word, '[redacted]'), value);
  if (Array.isArray(value)) return value.map((one) => withoutWords(one, words) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutWords(one, words)])) as JsonObject;
}
