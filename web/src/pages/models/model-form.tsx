import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ModelReply } from '../../../../src/admin/entries/models.ts';
import { models } from '../../api/entries.ts';
import { mergePatch } from '../../api/merge-patch.ts';
import { call } from '../../api/request.ts';
import { Checks, Input, Select, TextArea } from '../../parts/controls.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/forms/changed-meanwhile.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { listIn, objectIn } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';
import { CacheFields } from './cache-fields.tsx';
import { definitionOf, draftOf, type ModelDraft, modelTypes, refuseLost } from './model-draft.ts';
import { Targets } from './targets.tsx';
import { Variants } from './variants.tsx';

/** Makes a model, or changes the stored one. */
export function ModelForm({ model, onDone }: { model: ModelReply | null; onDone: () => void }) {
  const client = useQueryClient();
  const [base, setBase] = useState(model);
  const [draft, setDraft] = useState(() => draftOf(model));
  const change = (changes: Partial<ModelDraft>) => setDraft((before) => ({ ...before, ...changes }));
  const rest = objectIn(draft.rest);
  const save = useMutation({
    async mutationFn() {
      refuseLost(draft);
      const after = definitionOf(draft);
      if (base === null) return call('POST', models.path, { body: { id: draft.id.trim(), ...after } });
      return call('PATCH', models.addressOf(base.id), {
        body: { version: base.version, ...mergePatch(base.definition ?? {}, after) },
      });
    },
    async onSuccess() {
      toast(base === null ? `${draft.id} can be called.` : `${base.id} was changed.`);
      await models.refresh(client);
      onDone();
    },
  });
  const current = currentOf<ModelReply>(save.error);
  const field = textFields(draft, change);
  const text = (name: Parameters<typeof field>[0]) => ({ spellCheck: false, ...field(name) });
  return (
    <ActionForm
      by={save}
      action={base === null ? 'Add model' : 'Save'}
      disabled={rest === null}
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={definitionOf(draftOf(base))}
            theirs={definitionOf(draftOf(current))}
            yours={definitionOf(draft)}
            onGoOn={(definition) => {
              setBase(current);
              setDraft(draftOf({ ...current, definition }));
              save.reset();
            }}
          />
        )
      }
    >
      <div className="grid gap-4 sm:grid-cols-[1fr_10rem]">
        <Field name="id" label="Name" hint="The model that callers ask for. A * makes it a pattern.">
          <Input {...text('id')} disabled={base !== null} placeholder="smart" />
        </Field>
        <Field name="type" label="Type">
          <Select {...field('type')}>
            {modelTypes.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </Select>
        </Field>
      </div>
      <Targets targets={draft.targets} onTargets={(targets) => change({ targets })} />
      <Field name="prefer" label="Preferred target" hint="Among healthy targets with the same priority.">
        <Select {...field('prefer')}>
          <option value="">By weight and load</option>
          <option value="cheapest">The cheapest</option>
          <option value="fastest">The fastest</option>
          <option value="balanced">By price and time</option>
        </Select>
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          name="quality.checks"
          label="Checks of answers"
          hint="An answer that fails one makes the next target answer."
        >
          <Checks
            label="Checks of answers"
            options={['schema', 'refusal', 'length']}
            chosen={listIn(draft.checks, ',')}
            onChosen={(chosen) => change({ checks: chosen.join(', ') })}
          />
        </Field>
        <Field name="quality.min_chars" label="Minimum length in characters">
          <Input {...text('minChars')} inputMode="numeric" placeholder="Any" />
        </Field>
      </div>
      <Field name="fallbacks" label="Fallbacks" hint="Models to try, in this order, when all targets fail.">
        <NamesInput from="/admin/v1/models" field="id" placeholder="None" {...field('fallbacks')} />
      </Field>
      <CacheFields draft={draft} change={change} />
      <Field name="guards" label="Guards" hint="They read its requests and answers.">
        <NamesInput from="/admin/v1/guards" placeholder="None" {...field('guards')} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          name="shadow.share"
          label="Shadow, share"
          hint="For example 5%. You pay for it, and callers never get its answer."
        >
          <Input {...text('shadowShare')} placeholder="None" />
        </Field>
        <Field name="shadow.model" label="Shadow, model" hint="Also gets this share of the requests.">
          <Input {...text('shadowModel')} placeholder="None" />
        </Field>
      </div>
      <Variants
        variants={draft.variants}
        onVariants={(variants) => change({ variants })}
        sticky={draft.sticky}
        onSticky={(sticky) => change({ sticky })}
        rollback={draft.rollback}
        onRollback={(rollback) => change({ rollback })}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="tier" label="Tier" hint="A group of models that has its own limits.">
          <Input {...text('tier')} placeholder="None" />
        </Field>
        <Field name="cost" label="Units per request">
          <Input {...text('cost')} inputMode="decimal" placeholder="1" />
        </Field>
        <Field name="only.accounts" label="Allowed accounts">
          <NamesInput from="/admin/v1/accounts" field="id" placeholder="All" {...field('accounts')} />
        </Field>
        <Field name="only.plans" label="Allowed plans">
          <NamesInput from="/admin/v1/plans" placeholder="All" {...field('plans')} />
        </Field>
      </div>
      <Field
        name="definition"
        label="Other settings"
        hint="JSON with the keys of culvert.yaml: timeouts, hedge, attempts, capabilities, context_window …"
        fault={rest === null ? 'This is not a JSON object.' : null}
      >
        <TextArea rows={4} {...text('rest')} className="w-full font-mono text-xs" />
      </Field>
    </ActionForm>
  );
}
