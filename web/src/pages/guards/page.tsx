import { ShieldCheck } from 'lucide-react';
import type { GuardReply } from '../../../../src/admin/entries/guards.ts';
import { guards } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { Begin } from '../../parts/begin.tsx';
import { None } from '../../parts/figures.tsx';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { Page } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Source } from '../../parts/stored/stored-entry.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';
import { GuardForm } from './guard-form.tsx';
import { TryGuards } from './try-guards.tsx';
import { usersOf } from './users.ts';

const columns: readonly Column<GuardReply>[] = [
  { head: 'Guard', value: ({ name }) => name, cell: ({ name, check }) => <NameCell name={name}>{check}</NameCell> },
  {
    head: 'Action',
    cell: ({ action, mode }) => (
      <span className="inline-flex flex-wrap gap-1">
        {action} {mode === 'observe' && <Badge tone="warn">observes</Badge>}
      </span>
    ),
  },
  { head: 'Reads', from: 'md', cell: ({ on }) => on.join(', ') },
  { head: 'Source', from: 'sm', cell: (guard) => <Source of={guard} />, value: ({ source }) => source },
  {
    head: 'Used by',
    from: 'lg',
    cell: ({ used_by }) => {
      const users = usersOf(used_by);
      return users.length === 0 ? (
        <None />
      ) : (
        <div className="max-w-64 truncate">{users.map(({ text }) => text).join(', ')}</div>
      );
    },
  },
];

const yaml = `guards:
  pii: { check: personal-data, kinds: [email, card], action: mask }
models:
  smart: { targets: [openai/gpt-5], guards: [pii] }`;

const command = 'culvert guards set pii --check personal-data --kinds email,card --action mask';

/** Page of the guards, which look through requests and answers. */
export default function GuardsPage() {
  const pages = usePages<GuardReply>(guards.path, {}, { everyMs: 10_000, inUrl: true });
  const { add, dialog } = useAdding({
    area: 'models',
    label: 'Add guard',
    title: 'Add a guard',
    description: 'It works once a model, a plan or the server names it.',
    place: 'side',
    form: (done) => <GuardForm guard={null} onDone={done} />,
  });
  return (
    <Page title="Guards" actions={add}>
      <PagedTable
        label="Guards"
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        to={({ name }) => `/dashboard/guards/${encodeURIComponent(name)}`}
        empty={
          <Begin icon={<ShieldCheck />} title="There are no guards yet." action={add} yaml={yaml} command={command}>
            A guard looks through requests and answers for personal data, secrets, words and more. It blocks, masks or
            flags what it finds, or asks another model.
          </Begin>
        }
      />
      {(pages.rows?.length ?? 0) > 1 && <TryGuards guards={null} />}
      {dialog}
    </Page>
  );
}
