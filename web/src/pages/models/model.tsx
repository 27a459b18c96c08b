import { Link } from '@tanstack/react-router';
import { FlaskConical } from 'lucide-react';
import type { ModelReply } from '../../../../src/admin/entries/models.ts';
import { models } from '../../api/entries.ts';
import { useMay } from '../../api/rights.ts';
import { buttonClass } from '../../parts/button.tsx';
import { Id } from '../../parts/code.tsx';
import { None } from '../../parts/figures.tsx';
import { exactUsd } from '../../parts/format.ts';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { healthTones, Status } from '../../parts/status.tsx';
import { EntryFacts } from '../../parts/stored/stored-entry.tsx';
import { StoredPage } from '../../parts/stored/stored-page.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import { Attempts } from '../attempts/attempts.tsx';
import { KeepBodies } from '../bodies/keep-bodies.tsx';
import { ExplainModel } from './explained.tsx';
import { ModelForm } from './model-form.tsx';
import { Results } from './results.tsx';

/** One model: its targets in the order of attempts, and who may use it. */
export default function ModelPage() {
  return (
    <StoredPage
      entries={models}
      list={{ to: '/dashboard/models', label: 'Models' }}
      everyMs={5_000}
      kind="model"
      area="models"
      place="side"
      edit={(model, done) => <ModelForm model={model} onDone={done} />}
      removal="Callers that ask for this model then get a 404. Running requests finish."
      actions={({ id, type }) => type === 'chat' && <TryIt model={id} />}
    >
      {(model) => <Model model={model} />}
    </StoredPage>
  );
}

/** For who makes calls. */
function TryIt({ model }: { model: string }) {
  if (!useMay('calls', 'write')) return null;
  return (
    <Link to={'/dashboard/playground' as never} search={{ model } as never} className={buttonClass()}>
      <FlaskConical className="size-4" aria-hidden /> Try it
    </Link>
  );
}

type Target = ModelReply['targets'][number];

const columns: readonly Column<Target>[] = [
  {
    head: 'Target',
    cell: ({ target }) => <TargetName target={target} />,
  },
  { head: 'State', cell: ({ status }) => <Status tone={healthTones[status]}>{status}</Status> },
  {
    head: 'Order',
    value: ({ rank, priority }) => rank * 1_000_000 + priority,
    cell: ({ rank, priority }) => (rank > 0 ? `fallback ${rank}, priority ${priority}` : `priority ${priority}`),
  },
  { head: 'Weight', from: 'sm', align: 'right', cell: ({ weight }) => weight },
  {
    head: 'USD per 1M tokens, in / out',
    value: ({ price }) => price?.input ?? null,
    from: 'sm',
    align: 'right',
    cell: ({ price }) =>
      price === null ? (
        <span className="text-muted" title="Usage and budgets do not include its cost. Edit the model to set a price.">
          no price
        </span>
      ) : (
        `${exactUsd(price.input)} / ${exactUsd(price.output)}`
      ),
  },
];

function Model({ model }: { model: ModelReply }) {
  const { only } = model;
  return (
    <>
      <Section title="Details">
        <Facts>
          <Fact name="Name">
            <Id text={model.id} />
          </Fact>
          <Fact name="Type">{model.type}</Fact>
          <Fact name="State">
            <Status tone={healthTones[model.status]}>{model.status}</Status>
          </Fact>
          <Fact name="Tier">{model.tier ?? <None />}</Fact>
          <Fact name="Cost of a request">
            {model.cost} {model.cost === 1 ? 'unit' : 'units'}, times the cost of the endpoint
          </Fact>
          <Fact name="Attempts">at most {model.attempts}</Fact>
          <Fact name="Access">
            {only === null
              ? 'All keys whose plan and limits allow it'
              : [...only.accounts, ...only.plans.map((plan) => `plan ${plan}`)].join(', ')}
          </Fact>
          <Fact name="Cache">
            <Link
              to="/dashboard/cache"
              search={{ model: model.id } as never}
              className="text-accent underline-offset-2 hover:underline"
            >
              Cached answers and hits
            </Link>
          </Fact>
          <EntryFacts of={model} />
        </Facts>
      </Section>
      <Table
        label="Targets"
        columns={columns}
        rows={model.targets}
        keyOf={({ target, rank }) => `${rank} ${target}`}
        empty={<p className="p-4 text-muted">This model has no targets.</p>}
      />
      <Attempts where={{ model: model.id }} groups={['target', 'credential', 'class']} />
      {model.type === 'chat' && <Results model={model.id} />}
      {!model.id.includes('*') && <KeepBodies of="model" name={model.id} />}
      {(model.type === 'chat' || model.type === 'embedding') && !model.id.includes('*') && (
        <ExplainModel model={model} />
      )}
    </>
  );
}

/** A link to its provider, for who may see providers. */
function TargetName({ target }: Pick<Target, 'target'>) {
  if (!useMay('providers', 'read')) return <span className="[overflow-wrap:anywhere]">{target}</span>;
  return (
    <Link
      to={`/dashboard/providers/${encodeURIComponent(target.slice(0, target.indexOf('/')))}` as never}
      className="[overflow-wrap:anywhere] hover:underline"
    >
      {target}
    </Link>
  );
}
