// Loaded into a gateway with `node --import`: kill -9 by itself just before a step of the first chat that asks for it
// (header `x-die`), or of its own start. A step is whatever outlives the process: a statement that writes, bytes that
// leave. Between two steps nothing does, so dying before each is dying everywhere.
import { AsyncLocalStorage } from 'node:async_hooks';
import { appendFileSync } from 'node:fs';
import { Server } from 'node:http';
import { Socket } from 'node:net';
import { StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const { CULVERT_DIE_AT, CULVERT_DIE_FROM, CULVERT_DIE_LOG, CULVERT_DIE_STORES = '' } = process.env;
const dieAt = Number(CULVERT_DIE_AT);
/** Ports with other traffic, too, such as heartbeats: until the answer, only the chat's traffic counts as a step. */
const stores = new Set(CULVERT_DIE_STORES.split(',').map(Number));
const ofChat = new AsyncLocalStorage();
/** Its connections. Answers to others, such as who looks into the books meanwhile, are no steps of it. */
const callers = new WeakSet();
/** Names so far; null before they are counted. */
let steps = CULVERT_DIE_FROM === 'start' ? [] : null;
/** From then on the end of the chat is written together with other waiting rows, in any order. */
let answered = false;
let statement = '';

// Worker threads load it too; nothing of a request is written there.
if (isMainThread) {
  around(Server.prototype, 'emit', (emit, _, event, request) => {
    if (event !== 'request' || request.headers['x-die'] === undefined) return emit();
    steps ??= [];
    callers.add(request.socket);
    return ofChat.run(true, emit);
  });
  const executes = (execute, { sourceSQL }) => {
    const name = sourceSQL.trim().split(/\s+/).slice(0, 3).join(' ');
    // The same once more, in one transaction: a row of the same table.
    if (name !== statement && !/^(SELECT|WITH|PRAGMA)\b/i.test(name)) step(name);
    statement = name;
    return execute();
  };
  around(StatementSync.prototype, 'run', executes);
  around(StatementSync.prototype, 'get', executes);
  around(Socket.prototype, '_writeGeneric', (write, socket) => {
    if (callers.has(socket)) {
      step('write caller');
      answered = true;
    } else if (socket.server === null) {
      const { remotePort } = socket;
      if (!stores.has(remotePort) || answered || ofChat.getStore()) step(`write ${remotePort}`);
    }
    return write();
  });
}

function around(target, method, look) {
  const real = target[method];
  target[method] = function (...args) {
    return look(() => real.apply(this, args), this, ...args);
  };
}

function step(name) {
  if (steps === null) return;
  steps.push(name);
  const died = steps.length > dieAt;
  appendFileSync(CULVERT_DIE_LOG, `${JSON.stringify({ steps, died })}\n`);
  if (died) process.kill(process.pid, 'SIGKILL');
}
