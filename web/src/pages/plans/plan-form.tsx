import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { PlanReply } from '../../../../src/admin/entries/plans.ts';
import { plans } from '../../api/entries.ts';
import { ApiError, call } from '../../api/request.ts';
import { Input, Select, TextArea } from '../../parts/controls.tsx';
import { DataRuleFields } from '../../parts/data-rule.tsx';
import { isMissing } from '../../parts/error-note.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/forms/changed-meanwhile.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { useUnsaved } from '../../parts/forms/use-unsaved.ts';
import { Section } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';
import { LimitFields } from './limit-fields.tsx';
import { definitionOf, newPlan, type TypedPlan, typedOf } from './plan-fields.ts';
import { Preview } from './preview.tsx';
import { planOrNone } from './read-plan.ts';

interface PlanFormProps {
  name: string;
  /** Null: it is not there yet. */
  plan: PlanReply | null;
  mayWrite: boolean;
}

export function PlanForm({ name, plan, mayWrite }: PlanFormProps) {
  // The form's initial values: another person's change does not replace typed ones.
  const [before, setBefore] = useState(plan);
  const [typed, setTyped] = useState<TypedPlan>(() => typedOf(plan?.definition ?? newPlan));
  const client = useQueryClient();
  // Later the reader alone opens and closes them: an emptied field stays where it is.
  const [hadTierLimits] = useState(typed.tierLimits !== '');
  const save = useMutation({
    async mutationFn() {
      // Without a version, the server would replace it.
      const current = before === null ? await planOrNone(name) : null;
      if (current !== null) throw new ApiError(409, { current });
      const saved = await call<PlanReply>('PUT', plans.addressOf(name), {
        query: { version: before?.version, keep: before === null ? undefined : 'notify' },
        body: definitionOf(typed),
      });
      return { saved, sent: typed };
    },
    onError(error) {
      // Another person has removed it: the form creates it anew.
      if (!isMissing(error)) return;
      setBefore(null);
      void plans.refresh(client);
    },
    async onSuccess({ saved, sent }) {
      setBefore(saved);
      // As the server has it: 1,500 is 1500 now.
      setTyped((now) => (now === sent ? typedOf(saved.definition) : now));
      await plans.refresh(client);
      toast('Saved. The limits apply at once.', saved.warnings);
    },
  });
  const shown = definitionOf(typedOf(before?.definition ?? newPlan));
  useUnsaved(mayWrite && !save.isPending && JSON.stringify(definitionOf(typed)) !== JSON.stringify(shown), 'page');
  const current = currentOf<PlanReply>(save.error);
  const change = (changes: Partial<TypedPlan>) => setTyped({ ...typed, ...changes });
  const field = textFields(typed, change);
  return (
    <div className="grid min-w-0 items-start gap-4 xl:grid-cols-[minmax(0,1fr)_24rem]">
      <Section>
        <ActionForm
          by={save}
          action={!mayWrite ? null : before === null ? 'Create plan' : 'Save'}
          conflict={
            current !== null && (
              <ChangedMeanwhile
                before={shown}
                theirs={definitionOf(typedOf(current.definition))}
                yours={definitionOf(typed)}
                onGoOn={(next) => {
                  setBefore(current);
                  setTyped(typedOf(next));
                  save.reset();
                }}
              />
            )
          }
        >
          <p className="text-muted text-sm">An empty field means no limit.</p>
          <LimitFields path="" value={typed} onChange={change} />
          <div className="grid grid-cols-2 gap-3 border-line border-t pt-4 sm:grid-cols-3">
            <Field name="rpm" label="Requests per minute">
              <Input inputMode="numeric" {...field('rpm')} />
            </Field>
            <Field name="tpm" label="Tokens per minute">
              <Input inputMode="numeric" {...field('tpm')} />
            </Field>
            <Field name="concurrency" label="Concurrent requests">
              <Input inputMode="numeric" {...field('concurrency')} />
            </Field>
            <Field name="storage" label="Storage" hint="For vectors, pages and images.">
              <Input {...field('storage')} />
            </Field>
            <Field name="scope" label="Limits apply">
              <Select {...field('scope')}>
                <option value="account">per account</option>
                <option value="key">per key</option>
              </Select>
            </Field>
            <Field name="abandoned" label="Cancelled requests cost">
              <Select {...field('abandoned')}>
                <option value="">default</option>
                <option value="free">nothing</option>
                <option value="tokens">the input tokens</option>
                <option value="full">as much as an answer</option>
              </Select>
            </Field>
          </div>
          <Field
            name="models"
            label="Models"
            hint="One per line. * matches any characters. Leave it empty for all models."
          >
            <TextArea
              rows={3}
              spellCheck={false}
              className="field-sizing-content max-h-60 min-h-16 w-full"
              {...field('models')}
            />
          </Field>
          <Field name="guards" label="Guards" hint="They read requests and answers of its keys.">
            <NamesInput from="/admin/v1/guards" placeholder="None" {...field('guards')} />
          </Field>
          <DataRuleFields name="data" value={typed.data} onValue={(data) => change({ data })} />
          <details className="border-line border-t pt-3" open={hadTierLimits}>
            <summary className="font-medium text-sm">Limits by tier</summary>
            <div className="mt-3">
              <Field
                name="tier_limits"
                label="As JSON"
                hint={
                  'As in culvert.yaml: {"premium": {"rpm": 5, "5h": 100}}. Leave it empty for the limits of the tiers.'
                }
              >
                <TextArea rows={4} spellCheck={false} className="w-full font-mono" {...field('tierLimits')} />
              </Field>
            </div>
          </details>
          {before?.definition.notify !== undefined && (
            <p className="text-muted text-sm">The notices of the plan stay as they are.</p>
          )}
        </ActionForm>
      </Section>
      {plan !== null && <Preview name={name} definition={definitionOf(typed)} />}
    </div>
  );
}
