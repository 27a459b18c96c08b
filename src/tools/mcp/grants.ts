import { hash } from 'node:crypto';
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { McpGrantRow, McpGrantStore } from '../../books/auth/mcp-grant-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Sealer } from '../../kernel/seal.ts';

/** The authorization server of an MCP server, and which client we are there. */
export interface Authorization {
  /** Address of the MCP server. What was given for one address is never sent to another. */
  url: string;
  issuer: string;
  metadata: AuthorizationServerMetadata;
  /** Indicator of the MCP server (RFC 8707), as it is sent to the authorization server. */
  resource: string;
  scope: string | null;
  client: Client;
}

export interface Client {
  information: OAuthClientInformationMixed;
  /** `registered`: by us, for one redirect address. */
  origin: 'configured' | 'registered';
  redirectUri: string;
}

/** The result of an operator's login. */
export interface Grant extends Authorization {
  /** Null: they are of no more use. */
  tokens: Tokens | null;
}

/** Times are wall-clock ms. */
export interface Tokens {
  access: string;
  refresh: string | null;
  issuedMs: number;
  /** Null: nobody said. */
  expiresMs: number | null;
}

/** A login that waits for the browser to come back. */
export interface Pending extends Authorization {
  server: string;
  verifier: string;
  by: string;
}

export interface StoredGrant {
  row: McpGrantRow;
  /** Null: another `storage.secret` has sealed it. */
  grant: Grant | null;
}

/** Grants of MCP servers, opened. */
export type McpGrants = ReturnType<typeof createMcpGrants>;

const freshMs = 1_000;

/** The purpose of their sealer. */
export const mcpGrantsPurpose = 'mcp grants';

export function createMcpGrants(parts: { open(): Promise<McpGrantStore>; sealer(): Sealer; clock: Clock }) {
  const { open, sealer, clock } = parts;
  const seal = (content: object, context: string) =>
    sealer()
      .seal(Buffer.from(JSON.stringify(content)), context)
      .toString('base64');
  const opened = (sealed: string, context: string): unknown => {
    const plain = sealer().open(Buffer.from(sealed, 'base64'), context);
    return plain === null ? null : JSON.parse(plain.toString());
  };
  const storedOf = (row: McpGrantRow): StoredGrant => ({
    row,
    grant: opened(row.sealed, contextOf(row.server)) as Grant,
  });
  /** Above every earlier one, also of a row that is gone. */
  const versionAfter = (was: number) => Math.max(clock.wallMs(), was + 1);

  /** By server. */
  const known = new Map<string, { stored: StoredGrant | null; readMs: number }>();
  function know(server: string, stored: StoredGrant | null): StoredGrant | null {
    known.set(server, { stored, readMs: clock.monotonicMs() });
    return stored;
  }

  async function find(server: string): Promise<StoredGrant | null> {
    const row = await (await open()).find(server);
    return know(server, row === null ? null : storedOf(row));
  }

  async function replace(row: McpGrantRow, grant: Grant, ended: string | null): Promise<StoredGrant | null> {
    const sealed = seal(grant, contextOf(row.server));
    const next = { ...row, sealed, ended, leaseMs: 0, version: versionAfter(row.version) };
    if (await (await open()).put(next, row.version)) return know(row.server, { row: next, grant });
    known.delete(row.server);
    return null;
  }

  return {
    find,
    /** The grant as of the last second, or of the store's last answer; changes by this process are seen at once. */
    async recent(server: string): Promise<StoredGrant | null> {
      const found = known.get(server);
      if (found === undefined) return find(server);
      if (clock.monotonicMs() - found.readMs < freshMs) return found.stored;
      // While the store is out of reach, the tokens at hand go on.
      return find(server).catch(() => found.stored);
    },
    async list(): Promise<readonly StoredGrant[]> {
      return (await (await open()).list()).map(storedOf);
    },
    /** In the place of an earlier one. */
    async save(server: string, grant: Grant, by: string): Promise<void> {
      const store = await open();
      const before = await store.find(server);
      const sealed = seal(grant, contextOf(server));
      const version = versionAfter(before?.version ?? 0);
      const row = { server, sealed, ended: null, version, leaseMs: 0, loginMs: clock.wallMs(), loginBy: by };
      await store.put(row, null);
      know(server, { row, grant });
    },
    /** Null: another process has replaced or removed it. `ended`: why its tokens are of no more use. */
    replace,
    async remove(server: string): Promise<boolean> {
      known.delete(server);
      return (await open()).remove(server);
    },
    /** One process renews at a time. */
    async lease({ server, version }: McpGrantRow, forMs: number): Promise<boolean> {
      const nowMs = clock.wallMs();
      return (await open()).lease(server, version, nowMs, nowMs + forMs);
    },
    async release(row: McpGrantRow): Promise<void> {
      await (await open()).put({ ...row, leaseMs: 0 }, row.version);
    },
    /** `state` comes back with the browser. */
    async begin(state: string, pending: Pending, forMs: number): Promise<void> {
      const nowMs = clock.wallMs();
      const id = hashOf(state);
      const login = { hash: id, sealed: seal(pending, `mcp login ${id}`), endsMs: nowMs + forMs };
      await (await open()).begin(login, nowMs);
    },
    /** Once, and in time; otherwise null. */
    async redeem(state: string): Promise<Pending | null> {
      const id = hashOf(state);
      const login = await (await open()).redeem(id, clock.wallMs());
      return login === null ? null : (opened(login.sealed, `mcp login ${id}`) as Pending | null);
    },
    /** Seals all of them with the current secret. `left`: servers whose grant no secret here opens. */
    async reseal(): Promise<{ resealed: number; left: readonly string[] }> {
      const left: string[] = [];
      let resealed = 0;
      for (const row of await (await open()).list()) {
        const { grant } = storedOf(row);
        if (grant === null) left.push(row.server);
        // Who has replaced it meanwhile has sealed it with the current secret.
        else if ((await replace(row, grant, row.ended)) !== null) resealed += 1;
      }
      return { resealed, left };
    },
  };
}

/** Sealed bytes open for their own server alone. */
function contextOf(server: string): string {
  return `mcp grant ${server}`;
}

function hashOf(state: string): string {
  return hash('sha256', state, 'hex');
}
