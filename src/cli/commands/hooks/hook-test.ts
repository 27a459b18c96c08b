import { dirname, resolve } from 'node:path';
import { formatProblem } from '../../../config/problem.ts';
import type { Config, HookConfig } from '../../../config/schema.ts';
import { textsIn } from '../../../formats/neutral/json-texts.ts';
import type { HookName } from '../../../hooks/hook-names.ts';
import { answerReply, type Checked, requestReply, routeReply } from '../../../hooks/hook-reply.ts';
import { runnerOf } from '../../../inference/hooks/hook-keeper.ts';
import { isHookText } from '../../../inference/hooks/hook-step.ts';
import { systemClock } from '../../../kernel/clock.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { environmentProxies } from '../../../upstream/transport/proxy.ts';
import { createTransport } from '../../../upstream/transport/send.ts';
import { type AdminFlags, withAdmin } from '../../admin-client.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CliParts } from '../../parts.ts';
import { listForm, note, print, printJson } from '../../print.ts';
import { loadHere } from '../../read-config.ts';
import { table } from '../../table.ts';
import { readText } from '../../whole-file.ts';

interface HookTestFlags extends AdminFlags, Partial<Record<'body' | 'request' | 'answer', string>> {
  account: string;
  endpoint: string;
}

interface Tried {
  hook: string;
  function: string;
  ms: number;
  /** Null: it failed. */
  reply: unknown;
  failed: string | null;
}

/** `culvert hooks test`: runs hooks here, as a server would, and prints what it would make of their replies. */
export async function testHooks(name: string | undefined, flags: HookTestFlags, parts: CliParts): Promise<number> {
  const { file, result } = loadHere(flags.config);
  if (!result.ok) throw new CommandFailed(result.errors.map(formatProblem).join('\n'));
  const { config } = result;
  const hooks = Object.entries(config.hooks).filter(([one]) => name === undefined || one === name);
  if (hooks.length === 0) throw new CommandFailed(whyNone(name, Object.keys(config.hooks)));
  const body = flags.request === undefined ? bodyIn(flags.body) : await storedBody(flags.request, flags, parts);
  const folder = dirname(resolve(file ?? 'culvert.yaml'));
  const tried: Tried[] = [];
  for (const [hook, settings] of hooks) tried.push(...(await tryHook(hook, settings, { body, config, flags, folder })));
  if (listForm(flags) === 'json') printJson({ object: 'list', data: tried });
  else {
    const shown = ({ failed, reply }: Tried) => failed ?? (reply === null ? 'no reply' : JSON.stringify(reply));
    const rows = tried.map((one) => [one.hook, one.function, `${one.ms} ms`, shown(one)]);
    print(table(['hook', 'function', 'time', 'reply'], rows));
  }
  return tried.some(({ failed }) => failed !== null) ? 1 : 0;
}

function whyNone(name: string | undefined, known: readonly string[]): string {
  if (known.length === 0) return 'The configuration has no hooks. "culvert hooks new NAME" writes one.';
  return `There is no hook '${name}'. There are ${known.join(', ')}.`;
}

function bodyIn(file: string | undefined): JsonObject {
  if (file === undefined) throw new CommandFailed('Name a request: --body FILE, or --request ID of a kept one.', 2);
  return objectOf(readText(file), file);
}

async function storedBody(id: string, flags: HookTestFlags, parts: CliParts): Promise<JsonObject> {
  const stored = await withAdmin(flags, parts, (admin) => admin.request('GET', `/requests/${encodeURIComponent(id)}`));
  const { bodies } = stored as { bodies: { request: string } | null };
  if (bodies === null)
    throw new CommandFailed(
      'The server keeps no body of this request. telemetry.log.bodies names the keys whose bodies it keeps.',
    );
  return objectOf(bodies.request, `the body of ${id}`);
}

function objectOf(text: string, what: string): JsonObject {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Said below.
  }
  if (!isObject(value as JsonValue)) throw new CommandFailed(`${what} is not a JSON object.`);
  return value as JsonObject;
}

interface Trial {
  body: JsonObject;
  config: Config;
  flags: HookTestFlags;
  folder: string;
}

async function tryHook(hook: string, settings: HookConfig, trial: Trial): Promise<Tried[]> {
  const { flags, folder } = trial;
  const { env } = process;
  const transport = createTransport({ proxyOf: environmentProxies(env) });
  const logLine = (_fields: object, message: string) => note(`${hook}: ${message}`);
  const printLine = ({ line }: { line?: unknown }) => note(`${hook}: ${String(line)}`);
  const log = { info: printLine, warn: logLine, error: logLine } as never;
  const parts = { transport, clock: systemClock, env, folder, planOf: () => 'default', log };
  const runner = runnerOf(hook, settings, parts);
  try {
    const broken = await runner.load();
    if (broken !== null) return [{ hook, function: '–', ms: 0, reply: null, failed: broken }];
    const tried: Tried[] = [];
    for (const { on, data, check } of callsFor(trial, settings)) {
      if (runner.functions?.has(on) !== true) continue;
      const startMs = performance.now();
      const outcome = await runner.call(on, flags.account, data);
      const ms = Math.round((performance.now() - startMs) * 100) / 100;
      const checked = outcome.ok ? check(outcome.reply) : outcome;
      tried.push({
        hook,
        function: on,
        ms,
        reply: checked.ok ? checked.value : null,
        failed: checked.ok ? null : checked.why,
      });
    }
    if (tried.length === 0)
      note(`${hook}: none of its functions sees this. Give an --answer for onAnswer and onEvent.`);
    return tried;
  } finally {
    await runner.close();
    transport.destroy();
  }
}

interface Call {
  on: HookName;
  data: object;
  check(reply: unknown): Checked<unknown>;
}

function callsFor({ body, config, flags }: Trial, { headers }: HookConfig): Call[] {
  const model = typeof body.model === 'string' ? body.model : null;
  const caller = { account: flags.account, plan: config.default_plan, keyId: 'key_test', keyName: 'test' };
  const facts = { requestId: 'req_test', endpoint: flags.endpoint, model, caller };
  const { parts, unread } = textsIn(body);
  const texts = parts.filter(isHookText).map(({ kind, text }) => ({ kind, text }));
  const seen = Object.fromEntries(headers.map((name) => [name, 'test']));
  const targets = (config.models[model ?? '']?.targets ?? []).map((target) => `${target.provider}/${target.model}`);
  const calls: Call[] = [
    {
      on: 'onRequest',
      data: { ...facts, texts, unread: unread.length, headers: seen },
      check: (reply) => requestReply(reply, texts.length),
    },
  ];
  if (targets.length > 0) {
    calls.push({ on: 'onRoute', data: { ...facts, targets }, check: (reply) => routeReply(reply, targets) });
  }
  if (flags.answer !== undefined) {
    const data = { ...facts, texts: [{ kind: 'assistant', choice: 0, text: flags.answer }] };
    for (const on of ['onAnswer', 'onEvent'] as const)
      calls.push({ on, data, check: (reply) => answerReply(reply, 1) });
  }
  return calls;
}
