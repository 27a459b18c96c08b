import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { changedMs, type HookFile } from './find-module.ts';
import { hookNames, hooksVersion, onlyLook, whyNoHooks } from './hook-names.ts';
import { begunAt, type HookOrder, type HookReply, type HookThreadData, runningAt } from './hook-order.ts';
import type { HookContext } from './hook-types.ts';

/* The thread of one hook: it imports the module and runs its functions, as many at a time as wait for something. */

const { module, folder, settings, state } = workerData as HookThreadData;
const port = parentPort;
if (port === null) throw new Error('this file is the entry of a thread');
const places = new Int32Array(state);
const context: HookContext = Object.freeze({ settings: Object.freeze(settings) });
const replyCharsMax = 8 * 1024 * 1024;
/** Files whose changes a reload sees. */
const filesMax = 1_000;
const send = (reply: HookReply) => port.postMessage(reply);

// A package is found as a file in the configuration's folder would find it.
const parentURL = String(pathToFileURL(join(folder, 'culvert.yaml')));
const files: HookFile[] = [];
registerHooks({
  resolve: (specifier, of, next) => next(specifier, specifier === module ? { ...of, parentURL } : of),
  load(url, of, next) {
    const path = url.startsWith('file:') && files.length < filesMax ? fileURLToPath(url) : null;
    if (path !== null) files.push([path, changedMs(path)]);
    return next(url, of);
  },
});

type Run = (data: object, context: HookContext) => unknown;

async function load(): Promise<Record<string, Run>> {
  const imported = (await import(module)) as { default?: Record<string, unknown> };
  const hooks = imported.default;
  if (typeof hooks !== 'object' || hooks === null) throw new Error('it has no default export with hooks');
  if (hooks.version !== hooksVersion)
    throw new Error(`its hooks have no version: ${hooksVersion}, which this server needs`);
  const functions: Record<string, Run> = {};
  for (const [name, value] of Object.entries(hooks)) {
    if (name === 'version') continue;
    if (!hookNames.some((known) => known === name))
      throw new Error(`it has '${name}'; hooks are ${hookNames.join(', ')}`);
    if (typeof value !== 'function') throw new Error(`its '${name}' is not a function`);
    functions[name] = value.bind(hooks) as Run;
  }
  const unfit = whyNoHooks(Object.keys(functions));
  if (unfit !== null) throw new Error(unfit);
  return functions;
}

function serve(functions: Readonly<Record<string, Run>>): void {
  port?.on('message', ({ id, on, data }: HookOrder) => {
    let reply: unknown;
    Atomics.store(places, begunAt, id);
    Atomics.store(places, runningAt, id);
    try {
      reply = functions[on]?.(data, context);
    } catch (error) {
      return send({ id, why: whyOf(error) });
    } finally {
      Atomics.store(places, runningAt, 0);
    }
    const ended = (value: unknown) => answer(id, onlyLook.has(on) ? null : value);
    if (!isPromise(reply)) return ended(reply);
    reply.then(ended, (error: unknown) => send({ id, why: whyOf(error) }));
  });
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function answer(id: number, value: unknown): void {
  if (value === undefined || value === null) return send({ id, reply: null });
  let reply: string | undefined;
  try {
    reply = JSON.stringify(value, written);
  } catch {
    return send({ id, why: 'its reply cannot be written as JSON' });
  }
  if (reply === undefined) send({ id, why: 'its reply cannot be written as JSON' });
  else if (reply.length > replyCharsMax) send({ id, why: 'its reply has more than 8 MB' });
  else send({ id, reply });
}

/** Throws for what JSON would leave out or empty: a reply that means something must not count as no change. */
function written(_name: string, value: unknown): unknown {
  const isLost = typeof value === 'function' || typeof value === 'symbol' || Number.isNaN(value);
  if (isLost || isEmptied(value)) throw new TypeError('JSON has no such value');
  return value;
}

/** Whether the value is an object with contents other than members, such as an Error or a Map. */
function isEmptied(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && prototype !== Object.prototype && Object.keys(value).length === 0;
}

/** The kind alone: a message could repeat a text of the request. */
function whyOf(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error;
  return `it threw (${/^\w{1,40}$/.test(name) ? name : 'Error'})`;
}

try {
  const functions = await load();
  serve(functions);
  send({ ready: Object.keys(functions) as (typeof hookNames)[number][], files });
} catch (error) {
  send({ broken: whyBroken(error) });
}

function whyBroken(error: unknown): string {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : { code: '', message: '' };
  const [first = 'it cannot be imported'] = (message || String(error)).split('\n');
  if (code === 'ERR_MODULE_NOT_FOUND' && message.includes("'") && /package '([^']+)'/.test(message)) {
    const name = /package '([^']+)'/.exec(message)?.[1] ?? module;
    return `the package '${name}' is not installed: run "npm install ${name}" in ${folder}`;
  }
  return first;
}
