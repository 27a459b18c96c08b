import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { RequestReply } from '../../../../src/admin/request-schema.ts';
import { accounts } from '../../api/entries.ts';
import { buttonClass } from '../../parts/button.tsx';
import { Section } from '../../parts/page.tsx';

type Refused = NonNullable<RequestReply['route']['refused']>;

/** Why a request was refused before anything ran, and the way to what refused it. */
export function WhyRefused({ request, refused }: { request: RequestReply; refused: Refused }) {
  const place = usePlace(request, refused);
  return (
    <Section title="Why it was refused">
      <p className="[overflow-wrap:anywhere]">{refused.message}</p>
      <p className="mt-2 text-muted text-sm">Nothing was sent to a provider, and it cost nothing.</p>
      {place !== null && (
        <Link to={place.to as never} search={place.search as never} className={buttonClass('plain', 'mt-3')}>
          {place.label}
        </Link>
      )}
    </Section>
  );
}

interface Place {
  to: string;
  search?: Record<string, string>;
  label: string;
}

/** Records of earlier versions do not name what refused them: theirs is the account's plan of today. */
function usePlace({ class: failure, account, model }: RequestReply, { by }: Refused): Place | null {
  const isOfPlan = by === undefined && account !== '' && /^(quota-exceeded|model-not-in-plan)$/.test(failure);
  const { data } = useQuery({ ...accounts.query(account), enabled: isOfPlan });
  if (by?.kind === 'rule') return null;
  if (by !== undefined) return placeOf({ ...by, kind: by.kind });
  if (isOfPlan) return data === undefined ? null : placeOf({ kind: 'plan', name: data.plan });
  if (failure === 'model-unknown') return { to: '/dashboard/models', search: { text: model }, label: 'Models' };
  if (failure === 'unauthenticated') return { to: '/dashboard/keys', label: 'Keys' };
  return null;
}

function placeOf({ kind, name }: { kind: 'key' | keyof typeof labels; name: string }): Place {
  return {
    to: `/dashboard/${kind}s/${encodeURIComponent(name)}`,
    label: kind === 'key' ? 'The key and its limits' : `${labels[kind]} ${name}`,
  };
}

const labels = { plan: 'Plan', model: 'Model', guard: 'Guard' };
