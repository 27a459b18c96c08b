import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft, FlaskConical, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { ModelReply } from '../../../../src/admin/models.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Id } from '../../parts/code.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Ago, None } from '../../parts/figures.tsx';
import { usd } from '../../parts/format.ts';
import { Fact, Facts, Page, Section } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { healthTones, Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { toast } from '../../parts/toast.tsx';
import { Source } from '../providers/source.tsx';
import { ExplainModel } from './explained.tsx';
import { ModelForm } from './model-form.tsx';
import { addressOf, modelQuery, refreshModels } from './use-models.ts';

/** One model: its targets in the order of attempts, and who may use it. */
export default function ModelPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { data, error, refetch } = useQuery({ ...modelQuery(id), refetchInterval: 5_000 });
  return (
    <Page
      title={id}
      before={
        <Link to="/dashboard/models" className={buttonClass('quiet', '-ml-3 px-2')}>
          <ChevronLeft className="size-4" aria-hidden /> Models
        </Link>
      }
      actions={data !== undefined && <Actions model={data} />}
    >
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows />}
      {data !== undefined && <Model model={data} />}
    </Page>
  );
}

type Target = ModelReply['targets'][number];

const columns: readonly Column<Target>[] = [
  {
    head: 'Target',
    cell: ({ target }) => (
      <Link
        to={`/dashboard/providers/${encodeURIComponent(target.slice(0, target.indexOf('/')))}` as never}
        className="[overflow-wrap:anywhere] hover:underline"
      >
        {target}
      </Link>
    ),
  },
  { head: 'State', cell: ({ status }) => <Status tone={healthTones[status]}>{status}</Status> },
  {
    head: 'Order',
    cell: ({ rank, priority }) => (rank > 0 ? `fallback ${rank}, priority ${priority}` : `priority ${priority}`),
  },
  { head: 'Weight', from: 'sm', align: 'right', cell: ({ weight }) => weight },
  {
    head: 'USD per 1M tokens, in / out',
    from: 'sm',
    align: 'right',
    cell: ({ price }) => (price === null ? <None /> : `${usd(price.input)} / ${usd(price.output)}`),
  },
];

function Model({ model }: { model: ModelReply }) {
  const { only } = model;
  return (
    <>
      {model.problem !== null && <Note tone="bad">The settings made here cannot be used: {model.problem}</Note>}
      {model.shadowed && (
        <Note tone="warn">
          The configuration file has a model with this name, and Culvert uses that one. The settings made here are kept,
          but not used.
        </Note>
      )}
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
          <Fact name="Source">
            <Source of={model} />
          </Fact>
          {model.updated_at !== null && (
            <Fact name="Last change">
              <Ago at={model.updated_at} /> by {model.updated_by}
            </Fact>
          )}
        </Facts>
      </Section>
      <Table
        label="Targets"
        columns={columns}
        rows={model.targets}
        keyOf={({ target, rank }) => `${rank} ${target}`}
        empty={<p className="p-4 text-muted">This model has no targets.</p>}
      />
      {(model.type === 'chat' || model.type === 'embedding') && !model.id.includes('*') && (
        <ExplainModel model={model} />
      )}
    </>
  );
}

function Actions({ model }: { model: ModelReply }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = useMay('models', 'write');
  const [open, setOpen] = useState<'edit' | 'remove' | null>(null);
  const { id, version, type } = model;
  return (
    <>
      {type === 'chat' && (
        <Link to={'/dashboard/playground' as never} search={{ model: id } as never} className={buttonClass()}>
          <FlaskConical className="size-4" aria-hidden /> Try it
        </Link>
      )}
      {may && version === null && model.source === 'file' && (
        <span className="text-muted text-sm">Set in the configuration file</span>
      )}
      {may && version !== null && (
        <>
          <Button icon={<Pencil className="size-4" />} onClick={() => setOpen('edit')}>
            Edit
          </Button>
          <Button look="danger" icon={<Trash2 className="size-4" />} onClick={() => setOpen('remove')}>
            Remove
          </Button>
          <Dialog open={open === 'edit'} onClose={() => setOpen(null)} place="side" title={`Edit ${id}`}>
            <ModelForm model={model} onDone={() => setOpen(null)} />
          </Dialog>
          <Confirm
            open={open === 'remove'}
            onClose={() => setOpen(null)}
            title={`Remove ${id}?`}
            action="Remove model"
            onConfirm={async () => {
              await call('DELETE', addressOf(id), { query: { version } });
              toast(`${id} is removed.`);
              await navigate({ to: '/dashboard/models' });
              await refreshModels(client);
            }}
          >
            Callers that ask for this model then get a 404. Running requests finish.
          </Confirm>
        </>
      )}
    </>
  );
}
