import { useState } from 'react';
import type { RouteReply } from '../../../../src/admin/entries/routes.ts';
import { models, providers, rules } from '../../api/entries.ts';
import { serverPath } from '../../api/server-path.ts';
import { Input, Select, Switch, TextArea } from '../../parts/controls.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { StoredForm } from '../../parts/stored/stored-form.tsx';
import { ClassFields } from './class-fields.tsx';
import { LadderFields } from './ladder-fields.tsx';
import { type Answer, definitionOf, draftOf, type RuleDraft } from './rule-fields.ts';

interface RuleFormProps {
  /** Null: the form makes one. */
  rule: RouteReply | null;
  onDone: () => void;
}

const answers: Readonly<Record<Answer, string>> = {
  requested: 'The model that the request names',
  model: 'Another model',
  ladder: 'One of several models, by budget or size',
  classify: 'One of several models, by examples',
  refuse: 'Nobody: the request is refused',
};

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Makes a rule, or changes the stored one. */
export function RuleForm({ rule, onDone }: RuleFormProps) {
  const [draft, setDraft] = useState(() => draftOf(rule?.definition ?? {}));
  const change = (changes: Partial<RuleDraft>) => setDraft((before) => ({ ...before, ...changes }));
  return (
    <StoredForm
      entry={rule}
      entries={rules}
      adds={{
        list: '/dashboard/routes',
        kind: 'rule',
        hint: 'Records and refusals show this name.',
        placeholder: 'free-and-long',
      }}
      written={() => definitionOf(draft)}
      onDefinition={(definition) => setDraft(draftOf(definition))}
      onDone={onDone}
    >
      <Condition draft={draft} change={change} />
      <Effects draft={draft} change={change} />
      {draft.answer !== 'refuse' && (
        <Field name="continue" label="Try later rules as well" hint="What this rule has set stays.">
          <Switch checked={draft.continue} onCheckedChange={(on) => change({ continue: on })} />
        </Field>
      )}
      <Field name="enabled" label="In force">
        <Switch checked={draft.enabled} onCheckedChange={(on) => change({ enabled: on })} />
      </Field>
    </StoredForm>
  );
}

interface PartProps {
  draft: RuleDraft;
  change: (changes: Partial<RuleDraft>) => void;
}

function Condition({ draft, change }: PartProps) {
  const field = textFields(draft, change);
  return (
    <>
      <Field
        name="when"
        label="Condition"
        hint={
          <>
            In CEL, over model, plan, account, tag, headers, tokens, tools, media and more. Leave it empty for all
            requests.{' '}
            <a
              href={`${serverPath}/docs/routing-rules#conditions`}
              target="_blank"
              rel="noreferrer"
              className="underline"
            >
              All fields
            </a>
          </>
        }
      >
        <TextArea
          {...field('when')}
          rows={3}
          spellCheck={false}
          placeholder='plan == "free" && tokens > 8000'
          className="field-sizing-content max-h-80 min-h-16 w-full font-mono text-xs"
        />
      </Field>
      <Field name="order" label="Order" hint="Rules with a lower number are tried first.">
        <Input {...field('order')} inputMode="numeric" placeholder="0" className="w-28" />
      </Field>
    </>
  );
}

function Effects({ draft, change }: PartProps) {
  const field = textFields(draft, change);
  return (
    <>
      <Field name="answer" label="Who answers">
        <Select value={draft.answer} onChange={({ target }) => change({ answer: target.value as Answer })}>
          {Object.entries(answers).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </Field>
      {draft.answer === 'model' && (
        <Field name="model" label="Model">
          <SuggestInput {...field('model')} from={models.path} field="id" />
        </Field>
      )}
      {draft.answer === 'ladder' && <LadderFields draft={draft} onChange={change} />}
      {draft.answer === 'classify' && <ClassFields draft={draft.classify} onChange={change} />}
      {draft.answer === 'refuse' ? (
        <>
          <Field name="refuse.message" label="Message" hint="What the caller reads, with the name of the rule.">
            <Input {...field('message')} />
          </Field>
          <Field name="refuse.status" label="Status">
            <Input {...field('status')} inputMode="numeric" className="w-28" />
          </Field>
        </>
      ) : (
        <Changes draft={draft} change={change} />
      )}
    </>
  );
}

function Changes({ draft, change }: PartProps) {
  const field = textFields(draft, change);
  return (
    <>
      <Field
        name="targets"
        label="Targets"
        hint="Only these may answer: provider/model, or a provider. Leave it empty for all."
      >
        <NamesInput {...field('targets')} from={providers.path} placeholder="claude" />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="parameters.temperature" label="Temperature">
          <Input {...field('temperature')} inputMode="decimal" />
        </Field>
        <Field name="parameters.top_p" label="Top p">
          <Input {...field('top_p')} inputMode="decimal" />
        </Field>
        <Field name="parameters.max_tokens" label="Maximum output tokens">
          <Input {...field('max_tokens')} inputMode="numeric" />
        </Field>
        <Field name="parameters.reasoning_effort" label="Reasoning effort">
          <Select {...field('reasoning_effort')}>
            <option value="">As requested</option>
            {efforts.map((effort) => (
              <option key={effort}>{effort}</option>
            ))}
          </Select>
        </Field>
      </div>
      <Field name="tag" label="Tag" hint="Usage of these requests is grouped by it, instead of by the caller's tag.">
        <Input {...field('tag')} spellCheck={false} />
      </Field>
    </>
  );
}
