// Loaded into a gateway with `node --import`: kill -9 by itself just before a step of the first chat that it is asked,
// or of its own start. A step is whatever another process could see of it: a statement that writes, bytes that leave,
// bytes that come in. Between two steps nothing happens that outlives the process, so dying before each is dying
// everywhere.
import { appendFileSync } from 'node:fs';
import { Server } from 'node:http';
import { Socket } from 'node:net';
import { StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const { CULVERT_DIE_AT, CULVERT_DIE_FROM, CULVERT_DIE_LOG } = process.env;
const dieAt = Number(CULVERT_DIE_AT);
/** So far; null before they are counted. */
let steps = CULVERT_DIE_FROM === 'start' ? 0 : null;

// Worker threads load it too; nothing of a request is written there.
if (isMainThread) {
  before(Server.prototype, 'emit', (_, [event, request]) => {
    if (event === 'request' && request.method === 'POST') steps ??= 0;
  });
  before(StatementSync.prototype, 'run', ({ sourceSQL }) => step(sourceSQL.trim().split(/\s+/).slice(0, 3).join(' ')));
  before(Socket.prototype, '_writeGeneric', (socket) => step(`write ${otherSideOf(socket)}`));
  before(Socket.prototype, 'push', (socket) => step(`read ${otherSideOf(socket)}`));
}

function before(target, method, look) {
  const real = target[method];
  target[method] = function (...args) {
    look(this, args);
    return real.apply(this, args);
  };
}

/** Who called us, or the port of whom we called. */
function otherSideOf(socket) {
  return socket.server === null ? socket.remotePort : 'caller';
}

function step(name) {
  if (steps === null) return;
  if (steps === dieAt) {
    appendFileSync(CULVERT_DIE_LOG, `${name}\n`);
    process.kill(process.pid, 'SIGKILL');
  }
  steps += 1;
}
