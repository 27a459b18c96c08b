import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { FlaskConical } from 'lucide-react';
import type { ReactNode } from 'react';
import type { RequestReply } from '../../../../src/admin/request-schema.ts';
import { requests } from '../../api/entries.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Code, Id } from '../../parts/code.tsx';
import { Ago, Count, Money, None, Span } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { exactUsd, instant, span } from '../../parts/format.ts';
import { EntryPage, Fact, Facts, Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Tiles } from '../../parts/tiles.tsx';
import { canRunAgain, setUpAgain } from '../playground/run-again.ts';
import { ConversationView } from './conversation.tsx';
import { Cost, isHit, whyFree } from './cost.tsx';
import { Guarded } from './guarded.tsx';
import { failureText, Outcome } from './outcome.tsx';
import { WhyRefused } from './refused.tsx';
import { Timeline } from './timeline.tsx';

/** One request: its route with the reasons, its usage, and its bodies if they are kept. */
export default function RequestPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useQuery({ ...requests.query(id), staleTime: Number.POSITIVE_INFINITY });
  return (
    <EntryPage
      title="Request"
      opened={id}
      list={{ to: '/dashboard/requests', label: 'Requests' }}
      query={query}
      actions={(request) => <RunAgain request={request} />}
    >
      {(request) => <Shown request={request} />}
    </EntryPage>
  );
}

function RunAgain({ request }: { request: RequestReply }) {
  const navigate = useNavigate();
  if (!useMay('calls', 'write') || !canRunAgain(request)) return null;
  return (
    <Button
      icon={<FlaskConical className="size-4" />}
      title={request.bodies === null ? 'Only with its model, because its body is not kept.' : undefined}
      onClick={() => void navigate({ to: '/dashboard/playground', search: setUpAgain(request) as never })}
    >
      Run again in the playground
    </Button>
  );
}

function Shown({ request }: { request: RequestReply }) {
  const { route } = request;
  return (
    <>
      <Summary request={request} />
      {route.refused !== undefined && <WhyRefused request={request} refused={route.refused} />}
      <div className="grid gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="flex min-w-0 flex-col gap-4">
          <Section title="Route">
            <Timeline request={request} />
          </Section>
          {(route.losses?.length ?? 0) > 0 && (
            <Section title="Dropped in the conversion">
              <Facts>
                {route.losses?.map(({ field, why }) => (
                  <Fact key={field} name={field}>
                    {why}
                  </Fact>
                ))}
              </Facts>
            </Section>
          )}
          <Bodies request={request} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Section title="Details">
            <Who request={request} />
          </Section>
          <Section title="Usage">
            <Used request={request} />
          </Section>
          <Guarded steps={route.steps} />
        </div>
      </div>
    </>
  );
}

/** Texts of the request and its answer: as a conversation, or as they were. */
function Bodies({ request: { bodies, bodies_note, conversation, route } }: { request: RequestReply }) {
  const [{ bodies: shown = 'conversation' }, setFilters] = useFilters<'bodies'>();
  if (bodies == null) {
    return (
      <Section title="Bodies">
        <p className="text-muted">{bodies_note ?? 'The bodies of this request are not kept.'}</p>
      </Section>
    );
  }
  const raw = (
    <div className="flex flex-col gap-3">
      <h3 className="font-medium">Request</h3>
      <Code label="Request" text={pretty(bodies.request)} wrap />
      <h3 className="font-medium">Response</h3>
      <Code label="Response" text={pretty(bodies.answer)} wrap />
      {bodies.error !== null && <p className="text-bad">{bodies.error}</p>}
    </div>
  );
  if (conversation === null) return <Section title="Bodies">{raw}</Section>;
  return (
    <Section title="Bodies">
      <Tabs
        label="Bodies"
        value={shown === 'raw' ? 'raw' : 'conversation'}
        onValue={(value) => setFilters({ bodies: value === 'raw' ? value : '' })}
        tabs={[
          {
            value: 'conversation',
            label: 'Conversation',
            content: () => (
              <ConversationView
                of={conversation}
                losses={route.losses ?? []}
                request={bodies.request}
                error={bodies.error}
              />
            ),
          },
          { value: 'raw', label: 'Raw', content: () => raw },
        ]}
      />
    </Section>
  );
}

function Summary({ request }: { request: RequestReply }) {
  const { usage } = request;
  const facts: [string, ReactNode][] = [
    [
      'Status',
      <span key="s" className="inline-flex flex-wrap items-center gap-x-2">
        <Outcome status={request.status} failure={request.class} />
        {request.class !== 'ok' && <span className="font-normal text-muted text-sm">{failureText(request.class)}</span>}
      </span>,
    ],
    ['Duration', <Span key="t" ms={request.ms} />],
    ['First token', <Span key="f" ms={request.first_token_ms} />],
    [
      'Tokens in, out',
      <span key="u">
        <Count value={usage.input_tokens} /> <span className="text-faint">/</span> <Count value={usage.output_tokens} />
      </span>,
    ],
    ['Cost', <Cost key="c" request={request} />],
    ['Units', <Count key="n" value={request.units} />],
  ];
  return <Tiles of={facts} />;
}

function Who({ request }: { request: RequestReply }) {
  // A request that was refused early has no account, no key and no model.
  const listed = (filter: Record<string, unknown>, text: string | null | undefined) =>
    text ? (
      <Link
        to="/dashboard/requests"
        search={filter as never}
        className="underline decoration-line-strong underline-offset-2 hover:decoration-current"
      >
        {text}
      </Link>
    ) : (
      <None />
    );
  return (
    <Facts>
      <Fact name="Id">
        <Id text={request.id} />
      </Fact>
      {request.client_request_id !== null && (
        <Fact name="Client request id">
          <Id text={request.client_request_id} />
        </Fact>
      )}
      <Fact name="Time">
        {instant(Date.parse(request.created_at))}{' '}
        <span className="text-muted">
          (<Ago at={request.created_at} />)
        </span>
      </Fact>
      <Fact name="Account">{listed({ account: request.account }, request.account)}</Fact>
      <Fact name="Key">{listed({ key: request.key }, request.tenant)}</Fact>
      <Fact name="User">{listed({ user: request.user }, request.user)}</Fact>
      <Fact name="Tag">{listed({ tag: request.tag }, request.tag)}</Fact>
      {request.session != null && (
        <Fact name="Session">
          <Link
            to={'/dashboard/sessions/timeline' as never}
            search={{ session: request.session, account: request.account } as never}
            className="underline underline-offset-2"
          >
            {request.session}
          </Link>
        </Fact>
      )}
      <Fact name="Endpoint">
        {request.endpoint} {request.stream && <Badge>stream</Badge>}{' '}
        {request.aborted && <Badge tone="warn">client disconnected</Badge>}
      </Fact>
      <Fact name="Model">{listed({ model: request.model }, request.model)}</Fact>
      {request.variant !== null && (
        <Fact name="Variant">
          <Link
            to={`/dashboard/models/${encodeURIComponent(request.model)}` as never}
            className="underline decoration-line-strong underline-offset-2 hover:decoration-current"
          >
            {request.variant}
          </Link>
        </Fact>
      )}
      {typeof request.route.prompt === 'string' && <Fact name="Prompt">{request.route.prompt}</Fact>}
      {request.route.rules !== undefined && <Rules {...request.route.rules} />}
      {request.cache !== null && (
        <Fact name="Cache">
          {cacheUses[request.cache] ?? request.cache}
          {typeof request.route.cacheAgeMs === 'number' && `, ${span(request.route.cacheAgeMs)} old`}
        </Fact>
      )}
      {request.route.mcp !== undefined && <Called called={request.route.mcp} />}
      {request.route.agent !== undefined && <Messaged message={request.route.agent} />}
      {request.tier !== null && <Fact name="Tier">{request.tier}</Fact>}
    </Facts>
  );
}

/** By the record's word. */
const cacheUses: Readonly<Record<string, string>> = {
  hit: 'hit: served from the cache',
  semantic: 'hit: the cached answer to a question with the same meaning',
  miss: 'miss: the model answered',
};

/** The call of an MCP server: what of it was called, and how that went. */
function Called({ called: { server, kind, name, host, outcome, bytes } }: { called: Called }) {
  return (
    <>
      <Fact name="MCP server">
        {server} {host !== null && <span className="text-muted">{host}</span>}
      </Fact>
      <Fact name={sentence(kind)}>
        {name ?? <None />} <span className="text-muted">{failureText(outcome ?? 'no result')}</span>
      </Fact>
      <Fact name="Result">
        <Count value={bytes} /> bytes
      </Fact>
    </>
  );
}

/** Which agent got the message, of which task, and how that went. */
function Messaged({ message: { agent, method, task, outcome, bytes } }: { message: Message }) {
  return (
    <>
      <Fact name="Agent">
        <Link
          to={`/dashboard/agents/${encodeURIComponent(agent)}` as never}
          className="underline decoration-line-strong underline-offset-2 hover:decoration-current"
        >
          {agent}
        </Link>
      </Fact>
      <Fact name="Method">
        {method} <span className="text-muted">{failureText(outcome ?? 'no answer')}</span>
      </Fact>
      <Fact name="Task">{task == null ? <None /> : <Id text={task} />}</Fact>
      <Fact name="Answer">
        <Count value={bytes} /> bytes
      </Fact>
    </>
  );
}

type Message = NonNullable<RequestReply['route']['agent']>;

type Called = NonNullable<RequestReply['route']['mcp']>;

type RulesOfRequest = NonNullable<RequestReply['route']['rules']>;

/** Rules for routes that applied, and why those before them did not. */
function Rules({ applied, passed = [], passedMore = 0, classified = [] }: RulesOfRequest) {
  return (
    <Fact name="Rules">
      {applied.length === 0 && 'None applied'}
      {applied.map((rule, at) => (
        <span key={rule}>
          {at > 0 && ', '}
          <Link
            to="/dashboard/routes/$name"
            params={{ name: rule } as never}
            className="text-accent underline-offset-2 hover:underline"
          >
            {rule}
          </Link>
        </span>
      ))}
      {classified.map(({ rule, model, score, observed }) => (
        <div key={rule} className="text-muted text-sm">
          {rule}: {model === null ? 'no class is clearly the nearest' : `nearest to the examples of ${model}`}
          {score !== null && ` (similarity ${score.toFixed(2)})`}
          {observed === true && ', observed only'}
        </div>
      ))}
      {passed.map(({ rule, because }) => (
        <div key={rule} className="text-muted text-sm [overflow-wrap:anywhere]">
          {rule}: <code>{because}</code> is not true
        </div>
      ))}
      {passedMore > 0 && <div className="text-muted text-sm">{passedMore} more did not apply</div>}
    </Fact>
  );
}

/** Origin of the counts, by the record's word. */
const sources: Readonly<Record<string, string>> = {
  upstream: 'Reported by the provider',
  counted: 'Counted by Culvert, because the provider reported none',
  estimated: 'Estimated from the request',
  abandoned: 'Estimated, because the client disconnected',
  none: 'Nothing was used',
  refused: 'The request was refused',
};

function Used({ request }: { request: RequestReply }) {
  const { usage, units, cost_usd, saved_usd, cache } = request;
  const { source, ...counts } = usage;
  return (
    <Facts>
      {Object.entries(counts)
        .filter(([name, value]) => typeof value === 'number' && (value > 0 || /^(in|out)put_tokens$/.test(name)))
        .map(([name, value]) => (
          <Fact key={name} name={sentence(name)}>
            {name === 'audio_ms' ? <Span ms={value as number} /> : <Count value={value as number} />}
          </Fact>
        ))}
      <Fact name="Units">
        <Count value={units} />
      </Fact>
      <Fact name="Cost">
        {cost_usd === null ? (
          <span className="text-muted">
            {whyFree(request) ?? (
              <>
                no price:{' '}
                <Link
                  to={`/dashboard/models/${encodeURIComponent(request.model)}` as never}
                  className="underline underline-offset-2 hover:text-ink"
                >
                  set one at {request.model}
                </Link>
              </>
            )}
          </span>
        ) : (
          exactUsd(cost_usd)
        )}
      </Fact>
      {saved_usd !== null && (
        <Fact name="Saved by a cache">
          <Money value={saved_usd} />
        </Fact>
      )}
      {!isHit(cache) && <Fact name="Tokens">{sources[source] ?? source}</Fact>}
    </Facts>
  );
}

function sentence(name: string): string {
  const words = name.replace(/_ms$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
