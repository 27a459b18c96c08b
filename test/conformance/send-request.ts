import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';
import type { Exchange } from './exchange.ts';
import type { Service } from './services.ts';
import type { World } from './world.ts';

/** Result of a recorded request at the endpoint of its own format. */
export interface Sent {
  from: string;
  service: string;
  /** Of the gateway's answer. */
  status: number;
  /** The refusal's words; null when the request was taken. */
  refused: string | null;
  /** Paths of the request's body that did not reach the upstream unchanged. */
  changed: readonly string[];
}

/** Sends a request that the service accepted, as it was recorded; only the model's name is the gateway's. */
export async function sendRequest(
  { player, gateway, modelOf, forget }: World,
  { exchange, service, model }: { exchange: Exchange; service: Service; model: string },
): Promise<Sent> {
  const recorded = exchange.request!;
  const name = modelOf(service, model);
  player.play(exchange);
  const response = await gateway.fetch(pathOf(service, name, exchange), {
    json: service.dialect === 'gemini' ? recorded : { ...recorded, model: name },
    headers: vendorHeaders(exchange),
  });
  const text = await response.text();
  const refused = response.status >= 400 ? text.slice(0, 400) : null;
  if (refused !== null) await forget();
  const got = player.asked()[0];
  return {
    from: exchange.from,
    service: service.name,
    status: response.status,
    refused,
    changed: got === undefined ? [] : changedPaths(recorded, got),
  };
}

function pathOf({ dialect }: Service, name: string, { url }: Exchange): string {
  if (dialect === 'openai-chat') return '/v1/chat/completions';
  if (dialect === 'openai-responses') return '/v1/responses';
  if (dialect === 'anthropic-messages') return '/v1/messages';
  const method =
    /:(stream)?[gG]enerateContent/.exec(url)?.[1] === undefined ? 'generateContent' : 'streamGenerateContent?alt=sse';
  return `/v1beta/models/${encodeURIComponent(name)}:${method}`;
}

/** Switches that change what a body may hold. */
function vendorHeaders({ requestHeaders }: Exchange): Record<string, string> {
  return Object.fromEntries(Object.entries(requestHeaders).filter(([name]) => /^anthropic-(beta|version)$/.test(name)));
}

/** The model is the target's; we decide on other models, and on the form of usage, too. */
const ours = new Set(['model', 'models', 'stream_options']);

function changedPaths(recorded: JsonObject, got: JsonObject): string[] {
  const paths = new Set<string>();
  for (const [name, value] of Object.entries(recorded)) if (!ours.has(name)) compare(value, got[name], name, paths);
  return [...paths];
}

function compare(before: JsonValue | undefined, after: JsonValue | undefined, path: string, paths: Set<string>): void {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    before.forEach((one, at) => {
      compare(one, after[at], `${path}[]`, paths);
    });
  } else if (isObject(before) && isObject(after)) {
    for (const [name, one] of Object.entries(before)) compare(one, after[name], `${path}.${name}`, paths);
  } else if (JSON.stringify(before) !== JSON.stringify(after)) paths.add(path);
}
