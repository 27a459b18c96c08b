import type { FetchGuard } from '../../net/fetch-guard.ts';
import { type Connect, createConnect } from '../../upstream/transport/connect.ts';
import { ConnectFailure } from '../../upstream/transport/transport-error.ts';

/** The guard refused a place. */
export class Blocked extends Error {}

/** Sockets to an origin that a caller named: each is opened to an address that the guard has just checked, or not at all. */
export function guardedConnect(origin: URL, guard: FetchGuard): Connect {
  return (timeoutMs, connected) => {
    let opening: ReturnType<Connect> | null = null;
    let state: 'wanted' | 'given up' = 'wanted';
    const fail = (error: Error) => connected(error as ConnectFailure, null);
    guard.check(origin).then((verdict) => {
      if (state === 'given up') return;
      if (!verdict.ok) {
        return fail(
          verdict.reason === 'blocked' ? new Blocked(verdict.message) : new ConnectFailure('dns', 'ENOTFOUND'),
        );
      }
      const { addresses } = verdict;
      const connect = createConnect(origin, {
        // Node calls this for names only. Literal addresses were checked before and are used as they are.
        lookup: (_hostname, { all }, callback) => {
          if (all) callback(null, [...addresses]);
          else callback(null, addresses[0]!.address, addresses[0]!.family);
        },
        proxy: null,
      });
      opening = connect(timeoutMs, (error, socket) => {
        if (socket === null) return connected(error, null);
        if (guard.allows(origin, socket.remoteAddress ?? '')) return connected(null, socket);
        socket.destroy();
        fail(new Blocked('its address is not on the public Internet'));
      });
    }, fail);
    return {
      destroy() {
        state = 'given up';
        opening?.destroy();
      },
    };
  };
}
