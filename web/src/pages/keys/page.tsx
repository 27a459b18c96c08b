import { SearchInput } from '../../parts/controls.tsx';
import { useFilters } from '../../parts/filters.ts';
import { AccountFilter, FilterInput, FilterSelect } from '../../parts/forms/suggest-input.tsx';
import { prefixOf } from '../../parts/key-prefix.ts';
import { Page } from '../../parts/page.tsx';
import { KeysTable } from './keys-table.tsx';
import { NewKeyButton } from './new-key.tsx';

const statuses = ['active', 'expired', 'suspended', 'revoked'];

export default function KeysPage() {
  const [{ text, account, status, tag }, setFilters] = useFilters<'text' | 'account' | 'status' | 'tag'>();
  return (
    <Page
      title="Keys"
      actions={<NewKeyButton />}
      bar={
        <>
          <SearchInput
            className="w-full sm:w-64"
            label="Name, tag, account or id"
            value={text ?? ''}
            onValue={(value) => setFilters({ text: prefixOf(value) })}
          />
          <AccountFilter value={account} onValue={(value) => setFilters({ account: value })} />
          <FilterInput
            label="Tag"
            value={tag}
            onValue={(value) => setFilters({ tag: value })}
            from="/admin/v1/usage?group_by=key_tag"
            field="group"
          />
          <FilterSelect
            label="Status"
            value={status}
            onValue={(value) => setFilters({ status: value })}
            options={statuses}
          />
        </>
      }
    >
      <KeysTable text={text} account={account} status={status} tag={tag} all />
    </Page>
  );
}
