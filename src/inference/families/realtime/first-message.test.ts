import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstMessage } from './first-message.ts';
import { Ending } from './realtime-session.ts';
import type { EndListener } from './socket-end.ts';

/** A caller whose frames a test sends; what the server does to it is noted. */
function calling(read: (frame: string) => string | null, idleMs = 60_000) {
  const seen: string[] = [];
  let listener!: EndListener;
  const caller = {
    listen: (one: EndListener) => {
      listener = one;
    },
    leaveAt: (frame: unknown, binary: boolean) => seen.push(`left at ${String(frame)}, ${binary}`),
    resume: () => seen.push('resumed'),
    close: (code: number, why: string) => seen.push(`closed ${code}: ${why}`),
    terminate: () => seen.push('terminated'),
  };
  const ending = new Ending();
  const onIdle = () => seen.push('idle');
  const first = firstMessage(caller as never, { ending, idleMs, onIdle, read: (frame) => read(String(frame)) });
  const end = () => listener;
  return { first, ending, seen, end };
}

test('the first frame that is the awaited one is read, left to the next listener, and no shutdown looks at it', async () => {
  const { first, ending, seen, end } = calling((frame) => (frame === 'setup' ? 'read' : null));
  end().frame('other' as never, false);
  end().drained();
  end().frame('setup' as never, true);
  assert.equal(await first, 'read');
  ending.drain();
  ending.cut();
  assert.deepEqual(seen, ['resumed', 'left at setup, true']);
});

test('a caller that leaves says nothing; one that is silent is told; a shutdown closes and cuts it', async () => {
  const gone = calling(() => null);
  gone.end().closed(1_006, '');
  assert.equal(await gone.first, null);
  gone.ending.drain();
  assert.deepEqual(gone.seen, []);

  const silent = calling(() => null, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(silent.seen, ['idle']);
  silent.end().closed(1_000, '');
  assert.equal(await silent.first, null);

  const { first, ending, seen, end } = calling(() => null);
  ending.drain();
  ending.cut();
  assert.deepEqual(seen, ['closed 1001: The server is shutting down. Connect again.', 'terminated']);
  end().closed(1_001, '');
  assert.equal(await first, null);
});
