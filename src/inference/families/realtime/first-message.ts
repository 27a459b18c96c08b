import type { Frame } from '../../../formats/media/realtime/events.ts';
import type { Ending, LongWork } from './realtime-session.ts';
import type { SocketEnd } from './socket-end.ts';

interface FirstMessageParts<Value> {
  ending: Ending;
  idleMs: number;
  /** Closes a caller that was silent for `idleMs`. */
  onIdle(): void;
  /** Null: the frame is not the one that is waited for. */
  read(frame: Frame): Value | null;
}

/**
 * Resolves to what `read` finds in the first frame that it takes, which the next listener gets again, and everything after
 * it. Null: the caller has left, or was silent for too long.
 */
export function firstMessage<Value>(caller: SocketEnd, parts: FirstMessageParts<Value>): Promise<Value | null> {
  const { ending, idleMs, onIdle, read } = parts;
  return new Promise((resolve) => {
    const work: LongWork = {
      drain: () => caller.close(1001, 'The server is shutting down. Connect again.'),
      cut: () => caller.terminate(),
    };
    const idle = setTimeout(onIdle, idleMs);
    const done = (value: Value | null) => {
      clearTimeout(idle);
      ending.remove(work);
      resolve(value);
    };
    // Before it listens: a caller that has left already is `closed` at once.
    ending.add(work);
    caller.listen({
      frame(frame, binary) {
        const value = read(frame);
        if (value === null) return;
        caller.leaveAt(frame, binary);
        done(value);
      },
      drained: () => caller.resume(),
      closed: () => done(null),
    });
  });
}
