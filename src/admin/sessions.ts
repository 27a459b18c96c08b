import { z } from 'zod';
import type { KnownSession, Sessions } from '../books/auth/sessions.ts';
import type { Failure } from '../kernel/failure.ts';
import type { AccountScope } from './account-scope.ts';
import type { Records } from './directory.ts';
import { listOf, pageFields, timeField } from './fields.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import { pageByPlace } from './page.ts';
import type { AdminParts } from './parts.ts';

const sessionSchema = z.object({
  id: z.string(),
  kind: z.enum(['operator', 'key']),
  name: z.string().describe('Of the operator, or account/name of the key.'),
  account: z.string().nullable().describe("The key's; null for an operator."),
  login: z.enum(['token', 'admin_key', 'operator_key', 'key', 'oidc', 'saml']).describe('How the browser logged in.'),
  address: z.string().describe("Address that the browser came from; '' when unknown."),
  agent: z.string().describe('The User-Agent of the browser.'),
  created_at: timeField,
  seen_at: timeField.describe('Time of its last request, to the minute.'),
  expires_at: timeField,
});

/** For pages that show it. */
export type SessionReply = z.output<typeof sessionSchema>;

const noDashboard: Failure = {
  kind: 'conflict',
  message: 'No server with a dashboard answers here. Start one without admin.dashboard: false.',
};
const noAdminKey: Failure = {
  kind: 'conflict',
  message: 'This server has no admin key, which a login link needs. Set admin.key or CULVERT_ADMIN_KEY.',
};

/** `/sessions` and `/login-links`: who is logged in to the dashboard, and how the first one gets in. */
export function sessionOperations(parts: AdminParts, records: Records): Operation[] {
  const sessions = (): Sessions => parts.sessions ?? refuse(noDashboard);
  const living = (scope: AccountScope) => records.asking(async () => (await sessions().list()).filter(isIn(scope)));

  return [
    jsonOperation({
      route: 'GET /sessions',
      area: 'operators',
      summary: 'Lists the browsers that are logged in to the dashboard, newest first.',
      query: z.strictObject(pageFields),
      reply: listOf(sessionSchema),
      async run({ query, operator }) {
        const page = pageByPlace(await living(operator.accounts), query);
        return { data: page.rows.map(shown), next_cursor: page.next };
      },
    }),
    jsonOperation({
      route: 'DELETE /sessions/{id}',
      area: 'operators',
      summary: 'Logs a browser out. Every server refuses its next request.',
      reply: sessionSchema,
      async run({ params, operator }) {
        const found = (await living(operator.accounts)).find(({ id }) => id === params.id);
        if (found === undefined || !(await records.asking(() => sessions().endById(found.id)))) {
          return refuse({ kind: 'not-found', message: `There is no session '${params.id.slice(0, 64)}'.` });
        }
        const before = shown(found);
        await records.apply([], {
          actor: operator.name,
          action: 'session.end',
          subject: found.id,
          before: { name: before.name, account: before.account, login: before.login },
          after: null,
        });
        return before;
      },
    }),
    jsonOperation({
      route: 'POST /login-links',
      area: 'operators',
      summary: 'Creates a link that logs one browser in as the owner `admin`. It works once, within ten minutes.',
      status: 201,
      reply: z.object({
        path: z.string().describe('Below the address of this server: /dashboard#token=…'),
        expires_at: timeField,
      }),
      async run({ operator }) {
        const credential = sessions().adminCredential() ?? refuse(noAdminKey);
        const { token, endsMs } = await records.asking(() => sessions().issueToken(credential));
        await records.apply([], {
          actor: operator.name,
          action: 'login-link.create',
          subject: 'admin',
          before: null,
          after: null,
        });
        return { path: `/dashboard#token=${token}`, expires_at: new Date(endsMs).toISOString() };
      },
    }),
  ];
}

/** Sessions of operators belong to no account. */
function isIn(scope: AccountScope): (session: KnownSession) => boolean {
  return ({ who }) => scope === null || (who.to === 'v1' && scope.includes(who.principal.account));
}

function shown({ who, createdMs, seenMs, endsMs, ...row }: KnownSession): z.input<typeof sessionSchema> {
  const { id, login, address, agent } = row;
  return {
    id,
    kind: who.to === 'admin' ? 'operator' : 'key',
    name: who.to === 'admin' ? who.operator.name : `${who.principal.account}/${who.principal.keyName}`,
    account: who.to === 'admin' ? null : who.principal.account,
    login,
    address,
    agent,
    created_at: new Date(createdMs).toISOString(),
    seen_at: new Date(seenMs).toISOString(),
    expires_at: new Date(endsMs).toISOString(),
  };
}
