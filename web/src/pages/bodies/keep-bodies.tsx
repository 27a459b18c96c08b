import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { BodyRuleReply } from '../../../../src/admin/entries/body-rules.ts';
import type { Listed } from '../../api/pages.ts';
import { call, get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Moment } from '../../parts/figures.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { Section } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';

const path = '/admin/v1/body-rules';
/** More than a server takes. */
const rulesMax = 1_000;
/** Each rule ends at its time. */
const everyMs = 30_000;

export function useBodyRules() {
  return useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => get<Listed<BodyRuleReply>>(path, { limit: rulesMax }, signal),
    refetchInterval: everyMs,
  });
}

interface Subject extends Pick<BodyRuleReply, 'of' | 'name'> {
  /** Account of a key; absent for other subjects. */
  account?: string;
}

/** Whether requests and answers of a key, an account or a model are kept, and the way to begin and to stop that. */
export function KeepBodies(subject: Subject) {
  return useMay('requests', 'read') ? <StoredUntil {...subject} /> : null;
}

function StoredUntil(subject: Subject) {
  const { of, name } = subject;
  const { data, error, refetch } = useBodyRules();
  const [open, setOpen] = useState(false);
  const isAdmin = useMay('requests', 'write');
  const mayModels = useMay('models', 'write');
  const may = isAdmin && (of !== 'model' || mayModels);
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  const rule = data.data.find((one) => one.of === of && one.name === name);
  const others = data.data.filter((one) => alsoKeeps(one, subject));
  return (
    <Section
      title="Bodies"
      actions={
        <>
          <Link
            to="/dashboard/bodies"
            search={{ [of]: name } as never}
            className="text-sm underline underline-offset-2"
          >
            Kept requests
          </Link>
          {may && rule !== undefined && <Stop rule={rule} />}
          {may && <Button onClick={() => setOpen(true)}>{rule === undefined ? 'Keep for a while' : 'Change'}</Button>}
        </>
      }
    >
      {rule !== undefined && <RuleFacts rule={rule} />}
      {rule === undefined && others.length === 0 && (
        <p className="text-muted text-sm">The texts of requests and answers are not kept.</p>
      )}
      {others.map((other) => (
        <div key={other.id} className="text-sm [overflow-wrap:anywhere]">
          Those of the {other.of} {other.label}: <RuleFacts rule={other} />
        </div>
      ))}
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        title="Keep requests and answers"
        description="They are encrypted in the store. Culvert stops keeping them at the time that you choose."
      >
        <KeepForm of={of} name={name} onClose={() => setOpen(false)} />
      </Dialog>
    </Section>
  );
}

/** Whether a rule for something else keeps requests of the subject, too. */
function alsoKeeps(rule: BodyRuleReply, { of, name, account }: Subject): boolean {
  if (of === rule.of) return false;
  if (of === 'model' || rule.of === 'model') return true;
  return of === 'key' ? rule.name === account : rule.label.startsWith(`${name}/`);
}

/** Until when, by whom and why. */
export function RuleFacts({ rule }: { rule: BodyRuleReply }) {
  return (
    <p className="text-sm [overflow-wrap:anywhere]">
      Kept until <Moment at={rule.until} />, by {rule.created_by}: {rule.reason}
    </p>
  );
}

/** Ends a rule at once. */
export function Stop({ rule }: { rule: BodyRuleReply }) {
  const client = useQueryClient();
  const stop = useMutation({
    mutationFn: () => call('DELETE', `${path}/${rule.id}`),
    onSuccess: () => toast(`Bodies of ${rule.label} are no longer kept.`),
    onError: (error) => toast(error.message),
    // It may have ended meanwhile, or another person has ended it.
    onSettled: () => client.invalidateQueries({ queryKey: [path] }),
  });
  return (
    <Button busy={stop.isPending} onClick={() => stop.mutate()}>
      Stop
    </Button>
  );
}

const lengths = [
  ['1h', '1 hour'],
  ['8h', '8 hours'],
  ['1d', '1 day'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

function KeepForm({ of, name, onClose }: Subject & { onClose: () => void }) {
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState<string>(lengths[0][0]);
  const client = useQueryClient();
  const keep = useMutation({
    mutationFn: () => call<BodyRuleReply>('POST', path, { body: { of, name, reason, until } }),
    async onSuccess({ label }) {
      await client.invalidateQueries({ queryKey: [path] });
      toast(`Bodies of ${label} are kept from now on.`);
      onClose();
    },
  });
  return (
    <ActionForm by={keep} onCancel={onClose} action="Keep them">
      <Field name="reason" label="Reason" hint="The audit log shows it.">
        <Input value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
      <Field name="until" label="For">
        <Select value={until} onChange={(event) => setUntil(event.target.value)}>
          {lengths.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </Field>
    </ActionForm>
  );
}
