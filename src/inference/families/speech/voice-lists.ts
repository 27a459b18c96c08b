import { encodeGet } from '../../../formats/providers/encode.ts';
import type { ProviderConnection } from '../../../formats/providers/provider-connection.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { getJson } from '../../../upstream/transport/get-json.ts';
import type { Transport } from '../../../upstream/transport/upstream-call.ts';
import type { Snapshots } from '../../models/snapshot.ts';

/** The voices that servers list themselves, in addition to those that the catalog knows. */
export type VoiceLists = ReturnType<typeof createVoiceLists>;

const freshMs = 60_000;
const answerMaxMs = 2_000;
const voicesMax = 1_000;
const nameCharsMax = 128;

export function createVoiceLists(parts: { transport: Transport; clock: Clock; snapshots: Snapshots }) {
  const { transport, clock, snapshots } = parts;
  // By connection: a provider with a new configuration is asked again.
  const lists = new WeakMap<ProviderConnection, { names: readonly string[]; atMs: number }>();
  const asking = new Map<ProviderConnection, Promise<void>>();
  const connectionOf = (provider: string) => snapshots.current.providers.get(provider)?.connection;

  async function ask(connection: ProviderConnection, path: string): Promise<void> {
    const address = encodeGet(connection, connection.basePath + path);
    const answer = await getJson(transport, address, answerMaxMs).catch(() => null);
    const before = lists.get(connection)?.names ?? [];
    const names = answer?.status === 200 ? readVoiceList(answer.body) : [];
    // A failed list is requested again later, and the earlier one stays.
    lists.set(connection, { names: names.length > 0 ? names : before, atMs: clock.monotonicMs() });
  }

  return {
    /** The last list read, by the operator's name of the provider; none when it lists none or was not asked yet. */
    known(provider: string): readonly string[] {
      const connection = connectionOf(provider);
      return connection === undefined ? [] : (lists.get(connection)?.names ?? []);
    },
    /** Whether it lists its own, and nobody has asked this process for them yet. */
    isUnread(provider: string): boolean {
      const connection = connectionOf(provider);
      return connection?.speech?.voiceList !== undefined && !lists.has(connection);
    },
    /** Asks those whose list is not fresh. Resolves when all have answered or `answerMaxMs` is over; never rejects. */
    async refresh(providers: readonly string[]): Promise<void> {
      await Promise.all(
        [...new Set(providers)].map((provider) => {
          const connection = connectionOf(provider);
          const path = connection?.speech?.voiceList;
          if (connection === undefined || path === undefined) return undefined;
          const last = lists.get(connection);
          if (last !== undefined && clock.monotonicMs() - last.atMs < freshMs) return undefined;
          let running = asking.get(connection);
          if (running === undefined) {
            running = ask(connection, path).finally(() => asking.delete(connection));
            asking.set(connection, running);
          }
          return running;
        }),
      );
    },
  };
}

/** `{voices: […]}`, `{data: […]}` or a bare list, of names or of objects with one. */
function readVoiceList(body: unknown): string[] {
  const rows = Array.isArray(body) ? body : isObject(body) ? [body.voices, body.data].find(Array.isArray) : undefined;
  const names = new Set<string>();
  for (const row of (rows ?? []) as readonly JsonValue[]) {
    if (names.size >= voicesMax) break;
    const name = isObject(row) ? (row.id ?? row.voice_id ?? row.name) : row;
    if (typeof name === 'string' && /^[\x21-\x7e]+$/.test(name) && name.length <= nameCharsMax) names.add(name);
  }
  return [...names];
}
