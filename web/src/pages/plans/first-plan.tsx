import { useQuery } from '@tanstack/react-query';
import type { PlanReply } from '../../../../src/admin/entries/plans.ts';
import { plans } from '../../api/entries.ts';
import type { Listed } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Note } from '../../parts/error-note.tsx';

/** Says what the first plan of a server does to everybody else: until then nobody is limited. */
export function FirstPlan() {
  const { data } = useQuery({
    queryKey: [plans.path, 'first two'],
    queryFn: ({ signal }) => get<Listed<PlanReply>>(plans.path, { limit: 2 }, signal),
  });
  const isFirst = data?.data.length === 1 && data.data[0]?.from === 'built-in';
  if (!isFirst) return null;
  return (
    <Note tone="warn">
      This is the first plan. Until now nothing limits anybody. Accounts without a plan then have the built-in plan
      &quot;default&quot;: 60 requests a minute, and 1,000 units in 5 hours, 10,000 in 7 days and 40,000 in 30 days. To
      allow them more, write a plan &quot;default&quot; in culvert.yaml.
    </Note>
  );
}
