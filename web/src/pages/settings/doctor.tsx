import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, RefreshCw, TriangleAlert } from 'lucide-react';
import type { DoctorReply } from '../../../../src/admin/doctor.ts';
import { get } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';

type Finding = DoctorReply['findings'][number];

const order = { problem: 0, warning: 1, ok: 2 };
const icons = {
  problem: <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-label="Problem" />,
  warning: <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-label="Warning" />,
  ok: <CircleCheck className="mt-0.5 size-4 shrink-0 text-ok" aria-label="OK" />,
};

/** Findings of `culvert doctor`, by the running server. */
export function Doctor() {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['/admin/v1/doctor'],
    queryFn: ({ signal }) => get<DoctorReply>('/admin/v1/doctor', {}, signal),
    // It looks at the machine and asks providers.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const findings = data?.findings.toSorted((a, b) => order[a.state] - order[b.state]) ?? [];
  const bad = findings.filter(({ state }) => state !== 'ok').length;
  return (
    <>
      <div className="flex items-center gap-3">
        <p className="min-w-0 flex-1 text-muted">
          {data !== undefined && (bad === 0 ? 'There are no problems.' : `${plural(bad, 'finding')}.`)}
        </p>
        <Button icon={<RefreshCw className="size-4" />} busy={isFetching} onClick={() => void refetch()}>
          Check again
        </Button>
      </div>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      <Section inside="flush">
        {data === undefined && error === null && <SkeletonRows />}
        <ul className="divide-y divide-line">
          {findings.map((finding) => (
            <Line key={`${finding.check} ${finding.message}`} finding={finding} />
          ))}
        </ul>
      </Section>
    </>
  );
}

function Line({ finding: { check, state, message, fix, page, id } }: { finding: Finding }) {
  return (
    <li className="flex gap-2.5 px-4 py-2">
      {icons[state]}
      <div className="grid min-w-0 flex-1 gap-x-4 [overflow-wrap:anywhere] sm:grid-cols-[10rem_minmax(0,1fr)]">
        <p className="font-medium">
          {page === undefined || page === 'settings' ? (
            check
          ) : (
            <Link
              to={`/dashboard/${page}${id == null ? '' : `/${encodeURIComponent(id)}`}`}
              className="underline decoration-line-strong underline-offset-2 hover:decoration-current"
            >
              {check}
            </Link>
          )}
        </p>
        <div>
          <p>{message}</p>
          {fix !== null && <p className="text-muted">{fix}</p>}
        </div>
      </div>
    </li>
  );
}
