import { Split } from 'lucide-react';
import type { RouteReply } from '../../../../src/admin/entries/routes.ts';
import { rules } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { Begin } from '../../parts/begin.tsx';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { Page } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Source } from '../../parts/stored/stored-entry.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { RuleForm } from './rule-form.tsx';

const columns: readonly Column<RouteReply>[] = [
  {
    head: 'Rule',
    value: ({ name }) => name,
    cell: ({ name }) => <span className="font-medium [overflow-wrap:anywhere]">{name}</span>,
  },
  {
    head: 'Condition',
    value: ({ when }) => when ?? '',
    cell: ({ when }) =>
      when === null ? 'all requests' : <code className="line-clamp-2 font-mono text-xs">{when}</code>,
  },
  {
    head: 'Effects',
    from: 'sm',
    value: ({ effects }) => effects.join(', '),
    cell: ({ effects, enabled, continue: goesOn }) => (
      <span className="inline-flex flex-wrap gap-1">
        {effects.join(', ')} {goesOn && <Badge>continues</Badge>} {!enabled && <Badge tone="warn">off</Badge>}
      </span>
    ),
  },
  { head: 'Order', from: 'md', align: 'right', value: ({ order }) => order, cell: ({ order }) => order },
  { head: 'Source', from: 'md', cell: (rule) => <Source of={rule} />, value: ({ source }) => source },
];

const yaml = `routes:
  free-and-long:
    when: plan == "free" && tokens > 8000
    refuse: { message: Long requests need the plan pro. }`;

const command = `culvert routes set free-and-long --when 'plan == "free" && tokens > 8000' --refuse 'Long requests need the plan pro.'`;

/** Rules for routes in the order in which they are tried. */
export default function RulesPage() {
  const pages = usePages<RouteReply>(rules.path, {}, { everyMs: 10_000, inUrl: true });
  const { add, dialog } = useAdding({
    area: 'models',
    label: 'Add rule',
    title: 'Add a rule',
    description: 'It applies from the next request on.',
    place: 'side',
    form: (done) => <RuleForm rule={null} onDone={done} />,
  });
  return (
    <Page title="Rules" actions={add}>
      <PagedTable
        label="Rules"
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        to={({ name }) => `/dashboard/routes/${encodeURIComponent(name)}`}
        empty={
          <Begin icon={<Split />} title="There are no rules yet." action={add} yaml={yaml} command={command}>
            A rule looks at each request, and sends it to another model, changes it or refuses it.
          </Begin>
        }
      />
      {dialog}
    </Page>
  );
}
