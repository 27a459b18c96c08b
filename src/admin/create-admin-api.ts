import type { z } from 'zod';
import { formatPath } from '../config/problem.ts';
import { checkAgainst } from '../config/schema-issues.ts';
import { type Failure, FailureError, invalid, isFailure } from '../kernel/failure.ts';
import { factsOf } from '../kernel/failure-facts.ts';
import { parseObject } from '../kernel/parse-object.ts';
import type { AdminApi, AdminMethod, AdminReply, AdminRequest } from './admin-api.ts';
import { agentSessionOperations } from './agent-sessions.ts';
import { alertOperations } from './alerts.ts';
import { auditOperations } from './audit.ts';
import { backupOperations } from './backup.ts';
import { bodyOperations } from './bodies.ts';
import { cacheOperations } from './cache.ts';
import { clusterOperations } from './cluster.ts';
import { configurationOperations } from './configuration.ts';
import { createRecords } from './directory.ts';
import { doctorOperations } from './doctor.ts';
import { accountBudgetsOperation } from './entries/account-budgets.ts';
import { accountCreditOperations } from './entries/account-credit.ts';
import { windowOperations } from './entries/account-windows.ts';
import { accountOperations } from './entries/accounts.ts';
import { agentOperations } from './entries/agents.ts';
import { bodyRuleOperations } from './entries/body-rules.ts';
import { createEntryRecords } from './entries/entry-records.ts';
import { guardOperations } from './entries/guards.ts';
import { invitationOperations } from './entries/invitations.ts';
import { keyAddressesOperation } from './entries/key-addresses.ts';
import { keyWindowsOperation } from './entries/key-windows.ts';
import { keyOperations } from './entries/keys.ts';
import { mcpServerOperations } from './entries/mcp-servers.ts';
import { memberOperations } from './entries/members.ts';
import { modelOperations } from './entries/models.ts';
import { operatorOperations } from './entries/operators.ts';
import { planOperations } from './entries/plans.ts';
import { promptOperations } from './entries/prompts.ts';
import { providerCredentialOperations } from './entries/provider-credentials.ts';
import { providerDraftOperations } from './entries/provider-drafts.ts';
import { providerOperations } from './entries/providers.ts';
import { routeOperations } from './entries/routes.ts';
import { explainOperations } from './explain.ts';
import { guardTestOperations } from './guard-tests.ts';
import { healthOperations } from './health.ts';
import { noticeOperations } from './notices.ts';
import { agreementOperations } from './observed/agreement.ts';
import { savingsOperations } from './observed/savings.ts';
import { openApiOf } from './open-api.ts';
import { accessOf, DetailedFailure, type Operation, refuse } from './operation.ts';
import { overviewOperations } from './overview.ts';
import type { AdminParts } from './parts.ts';
import { type Found, findOperation } from './path.ts';
import { requestOperations } from './requests.ts';
import { notAllowed } from './roles.ts';
import { secretOperations } from './secret.ts';
import { sessionOperations } from './sessions.ts';
import { statementOperations } from './statements/statement-operations.ts';
import { createTroubleWatch } from './troubles/wrong.ts';
import { attemptOperations } from './usage/attempts.ts';
import { focusOperations } from './usage/focus.ts';
import { recalculateOperations } from './usage/recalculate.ts';
import { resultsOperations } from './usage/results.ts';
import { usageOperations } from './usage/usage.ts';
import { vectorOperations } from './vectors.ts';

/** The admin API over the ports of auth, metering and inference. Its routes and `culvert` run the same operations. */
export function createAdminApi(parts: AdminParts): AdminApi {
  const records = createRecords(parts);
  const entryRecords = createEntryRecords(parts, records);
  const watch = createTroubleWatch(parts, records);
  const operations: readonly Operation[] = [
    ...accountOperations(parts, records),
    accountBudgetsOperation(parts, records),
    ...accountCreditOperations(parts, records),
    ...keyOperations(parts, records),
    keyWindowsOperation(parts, records),
    keyAddressesOperation(parts, records),
    ...planOperations(parts, records),
    ...providerOperations(parts, entryRecords),
    ...providerDraftOperations(parts),
    ...providerCredentialOperations(parts, entryRecords),
    ...mcpServerOperations(parts, entryRecords, records),
    ...agentOperations(parts, entryRecords),
    ...modelOperations(parts, entryRecords),
    ...promptOperations(parts, entryRecords),
    ...guardTestOperations(parts, records),
    ...guardOperations(parts, records, entryRecords),
    ...routeOperations(parts, entryRecords),
    ...savingsOperations(parts),
    ...agreementOperations(parts, records),
    ...windowOperations(parts, records),
    ...explainOperations(parts, records),
    ...doctorOperations(parts, watch),
    ...backupOperations(parts, records),
    ...overviewOperations(parts, records, watch),
    ...requestOperations(parts, records),
    ...bodyRuleOperations(parts, records),
    ...bodyOperations(parts, records),
    ...agentSessionOperations(parts),
    ...usageOperations(parts, records),
    ...focusOperations(parts, records),
    ...recalculateOperations(parts, records),
    ...statementOperations(parts, records),
    ...attemptOperations(parts),
    ...resultsOperations(parts, records),
    ...cacheOperations(parts, records),
    ...vectorOperations(parts, records),
    ...operatorOperations(parts, records),
    ...invitationOperations(parts, records),
    ...memberOperations(records),
    ...sessionOperations(parts, records),
    ...auditOperations(parts, records),
    ...configurationOperations(parts, records),
    ...secretOperations(parts, records, entryRecords),
    ...alertOperations(parts),
    ...noticeOperations(parts, records),
    ...healthOperations(parts),
    ...clusterOperations(parts),
  ];
  return {
    async handle(request) {
      try {
        return await replyTo(operations, request);
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        const members = error instanceof DetailedFailure ? error.members : {};
        return failed(error.failure, members, parts.clock.wallMs());
      }
    },
    alerts: watch.alerts,
    openApi: () => openApiOf(operations, parts.version),
  };
}

async function replyTo(operations: readonly Operation[], request: AdminRequest): Promise<AdminReply> {
  const { operation, params } = found(operations, request.method, request.path);
  const { operator } = request;
  const refusal = notAllowed(operator, operation.area, accessOf(operation));
  if (refusal !== null) refuse(refusal);
  const query = checked(operation.query, queryObject(request.query), null);
  const { body, written } = bodyOf(operation, request.body);
  const result = await operation.run({
    params,
    query,
    body,
    written,
    text: typeof request.body === 'string' ? request.body : (request.text ?? ''),
    operator,
  });
  if (operation.reply.kind === 'text') {
    return { status: 200, contentType: operation.reply.contentType, body: result as AdminReply['body'] };
  }
  return { status: operation.reply.status, contentType: 'application/json', body: JSON.stringify(result) };
}

function found(operations: readonly Operation[], method: AdminMethod, path: string): Found & { kind: 'found' } {
  const result = findOperation(operations, method, path);
  switch (result.kind) {
    case 'found':
      return result;
    case 'other-method':
      return refuse({
        kind: 'method-not-allowed',
        method,
        path: `/admin/v1${path.slice(0, 200)}`,
        allowed: result.allowed,
      });
    case 'none': {
      const message = `There is no path /admin/v1${path.slice(0, 200)}. GET /openapi.json lists all paths.`;
      return refuse({ kind: 'not-found', message });
    }
  }
}

function bodyOf({ body }: Operation, given: AdminRequest['body']): { body: unknown; written: unknown } {
  if (body === null) return { body: undefined, written: undefined };
  if (body === 'yaml') return { body: given, written: given };
  const written = typeof given !== 'string' ? given : given === '' ? undefined : parsed(given);
  return { body: checked(body, written, 'the body'), written };
}

function parsed(text: string): unknown {
  const result = parseObject(Buffer.from(text));
  return isFailure(result) ? refuse(result) : result.body;
}

/** Parameters of one query; no operation takes half as many. */
const parametersMax = 50;

/** A parameter that occurs twice is a list, which no schema takes. */
function queryObject(query: URLSearchParams): Record<string, string | string[]> {
  const object = Object.create(null) as Record<string, string | string[]>;
  if (query.size > parametersMax) refuse(invalid(null, `The query has more than ${parametersMax} parameters.`));
  for (const [name, value] of query) {
    const before = object[name];
    if (before === undefined) object[name] = value;
    else if (typeof before === 'string') object[name] = [before, value];
    else before.push(value);
  }
  return object;
}

/** `whole` names the whole input, for problems that belong to no field of it. */
function checked(schema: z.ZodType, value: unknown, whole: string | null): unknown {
  const result = checkAgainst(schema, value);
  if (result.ok) return result.value;
  const { path, message } = result.problems[0]!;
  const param = path.length === 0 ? null : formatPath(path);
  return refuse(invalid(param, `${param ?? whole ?? 'the query'}: ${message}`));
}

function failed(failure: Failure, members: Readonly<Record<string, unknown>>, nowMs: number): AdminReply {
  const { status, type, message, param } = factsOf(failure, nowMs);
  const body = { ...members, error: { message, type, code: status, param } };
  return { status, contentType: 'application/json', body: JSON.stringify(body), failure, members };
}
