import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { PlanReply } from '../../../../src/admin/entries/plans.ts';
import { plans } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Note } from '../../parts/error-note.tsx';
import { unlessChanged } from '../../parts/forms/changed-meanwhile.tsx';
import { EntryPage } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';
import { FirstPlan } from './first-plan.tsx';
import { PlanForm } from './plan-form.tsx';
import { planOrNone } from './read-plan.ts';

/** One plan, or the form of one that is not there yet. */
export default function PlanPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const query = useQuery({
    queryKey: [plans.path, name],
    queryFn: ({ signal }) => planOrNone(name, signal),
  });
  const may = useMay('plans', 'write');
  return (
    <EntryPage
      title={name}
      list={list}
      query={query}
      changes={{ action: 'plan', subject: name }}
      actions={(plan) => plan?.from === 'admin api' && may && <Remove plan={plan} />}
    >
      {(plan) => (
        <>
          {plan === null && (
            <Note tone="plain">There is no plan with this name yet. {may && 'Save to create it.'}</Note>
          )}
          {plan === null && may && <FirstPlan />}
          {plan?.from === 'configuration' && (
            <Note tone="plain">This plan is set in culvert.yaml. Change it there. Here you can preview a change.</Note>
          )}
          {plan?.from === 'built-in' && (
            <Note tone="plain">
              This plan is built in. Give accounts a plan with another name, or write this one in culvert.yaml. Here you
              can preview a change.
            </Note>
          )}
          {(plan !== null || may) && (
            <PlanForm
              key={name}
              name={name}
              plan={plan}
              mayWrite={may && (plan === null || plan.from === 'admin api')}
            />
          )}
        </>
      )}
    </EntryPage>
  );
}

const list = { to: '/dashboard/plans', label: 'Plans' };

function Remove({ plan }: { plan: PlanReply }) {
  const [open, setOpen] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <>
      <Button look="danger" icon={<Trash2 className="size-4" aria-hidden />} onClick={() => setOpen(true)}>
        Remove
      </Button>
      <Confirm
        open={open}
        onClose={() => setOpen(false)}
        title={`Remove the plan ${plan.name}?`}
        action="Remove plan"
        onConfirm={async () => {
          await unlessChanged(
            () => call('DELETE', plans.addressOf(plan.name), { query: { version: plan.version } }),
            () => plans.refresh(client),
          );
          toast(`The plan ${plan.name} was removed.`);
          // First the page, which would offer to create it again.
          await navigate({ to: list.to, ignoreBlocker: true });
          await plans.refresh(client);
        }}
      >
        You cannot remove a plan while an account has it.
      </Confirm>
    </>
  );
}
