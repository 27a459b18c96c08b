import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { PlanReply } from '../../../../src/admin/plans.ts';
import { ApiError, call, get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { toast } from '../../parts/toast.tsx';
import { PlanForm } from './plan-form.tsx';

/** One plan, or the form of one that is not there yet. */
export default function PlanPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const { data, error, refetch } = useQuery({
    queryKey: ['/admin/v1/plans', name],
    queryFn: ({ signal }) => planOrNone(name, signal),
  });
  const may = useMay('plans', 'write');
  return (
    <Page
      title={name}
      before={
        <Link to="/dashboard/plans" className={buttonClass('quiet', '-ml-3 px-2')}>
          <ChevronLeft className="size-4" aria-hidden /> Plans
        </Link>
      }
      actions={data != null && may && data.from === 'admin api' && <Remove plan={data} />}
    >
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows />}
      {data === null && <Note tone="plain">There is no plan with this name yet. Save to create it.</Note>}
      {data?.from === 'configuration' && (
        <Note tone="plain">
          This plan is set in culvert.yaml, and you change it there. Here you can preview a change.
        </Note>
      )}
      {data?.from === 'built-in' && (
        <Note tone="plain">
          This plan is built in. Give accounts a plan of another name, or write this one in culvert.yaml. What is typed
          here can be tried.
        </Note>
      )}
      {data !== undefined && (
        <PlanForm key={name} name={name} plan={data} mayWrite={may && (data === null || data.from === 'admin api')} />
      )}
    </Page>
  );
}

async function planOrNone(name: string, signal: AbortSignal): Promise<PlanReply | null> {
  try {
    return await get<PlanReply>(`/admin/v1/plans/${encodeURIComponent(name)}`, {}, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

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
          await call('DELETE', `/admin/v1/plans/${encodeURIComponent(plan.name)}`);
          await client.invalidateQueries({ queryKey: ['/admin/v1/plans'] });
          toast(`The plan ${plan.name} was removed.`);
          void navigate({ to: '/dashboard/plans' });
        }}
      >
        You cannot remove a plan while an account has it.
      </Confirm>
    </>
  );
}
