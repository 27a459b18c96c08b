import { models } from '../../api/entries.ts';
import { Input, Select } from '../../parts/controls.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import type { ModelDraft } from './model-draft.ts';

interface CacheFieldsProps {
  draft: ModelDraft;
  change: (changes: Partial<ModelDraft>) => void;
}

/** The caches of a model: Culvert's of answers, and the provider's of prompts. */
export function CacheFields({ draft, change }: CacheFieldsProps) {
  const field = textFields(draft, change);
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field name="cache.ttl" label="Keep answers for" hint="Identical requests get the cached answer. For example 1h.">
        <Input spellCheck={false} placeholder="Not kept" {...field('cacheTtl')} />
      </Field>
      <Field
        name="cache.scope"
        label="Who shares the answers"
        hint="A hit tells a caller that the same thing was asked before."
      >
        <Select {...field('cacheScope')} disabled={draft.cacheTtl.trim() === ''}>
          <option value="">No one: each key has its own</option>
          <option value="account">The keys of an account</option>
          <option value="plan">The keys of a plan</option>
          <option value="all">Everybody</option>
        </Select>
      </Field>
      <Field
        name="cache.semantic.model"
        label="Also match by meaning"
        hint="An embedding model finds questions of the same meaning. Use it only where a wrong answer does no harm."
      >
        <SuggestInput
          from={`${models.path}?type=embedding`}
          field="id"
          placeholder="Off"
          disabled={draft.cacheTtl.trim() === ''}
          {...field('semanticModel')}
        />
      </Field>
      <Field
        name="cache.semantic.error"
        label="Largest share of wrong answers"
        hint="Culvert measures the share before it gives such answers."
      >
        <Input
          spellCheck={false}
          placeholder="1%"
          disabled={draft.semanticModel.trim() === ''}
          {...field('semanticError')}
        />
      </Field>
      <Field
        name="prompt_cache"
        label="The provider's prompt cache"
        hint="Asks the provider to cache the beginning of long prompts, where that pays off."
        className="sm:col-span-2"
      >
        <Select {...field('promptCache')}>
          <option value="">As each request says</option>
          <option value="auto">auto</option>
        </Select>
      </Field>
    </div>
  );
}
