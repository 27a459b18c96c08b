import { wordHash } from './lexical-hash.ts';

/**
 * Words without meaning for a text's subject, of the most written languages; part of the model, so never changed. Words
 * that carry meaning in another of them are left out (`die`, `war`).
 */
const stopWords = `
a about after all an and any are as at be because been before being between both but by can could did do does doing
down during each few for from had has have having he her here hers him his how i if in into is it its just ll m me more
most my no nor not now of off on once only or other our out over own re s same she should so some such t than that the
their them then there these they this those through to too under until up very ve was we were what when where which
while who whom why will with would you your d am
aber als am an auch auf aus bei bis da das dass dein dem den der des dies diese dieser dir doch du durch ein eine
einem einen einer eines er es für hat haben hatte ich ihr im in ist ja kann mein mich mir mit nach nicht noch nun nur
ob oder schon sehr sein sich sie sind so um und uns von vor was wenn wer werden wie wir wird zu zum zur über
au aux avec ce ces cette dans de des du elle en est et eu il ils je la le les leur lui mais me même mes moi mon ne nos
notre nous on ou où par pas pour qu que qui sa se ses sont sur ta te tes toi tu un une vos votre vous été être
al algo como con cuando de del desde donde el ella ellos en entre era eres es esta este esto está ha hasta hay la las le
les lo los me mi mis muy más ni no nos o para pero por porque que quien se ser si sobre su sus también te tu un
una uno unos y ya yo
che chi ci come con cui da dal dalla dei del della delle di e ed gli ha hanno ho i il io la le lei lo loro ma mi ne nel
nella noi non o per più quale quando quello questa questo se sei si sono su suo sua tra tu un una voi è
ao aos até com como da das de dela dele deles do dos e ela eles em entre era essa esse esta este eu foi há isso isto já
mais mas me meu minha muito na nas no nos não nós o os ou para pela pelo por qual quando que quem se sem ser seu sua só
são também te um uma você à é
aan als ben bij dan dat de deze dit door een en er ge heb hebben heeft het hij hoe ik in is je kan maar me met mijn na
naar niet nog nu of om onder ons ook op over te u uit veel voor was wat we wel werd wie wij wordt ze zich zij zijn zo
`;

let hashes: ReadonlySet<number> | null = null;

/** By `wordHash`; as good as exact, and no word has to be cut out of its text for it. */
export function isStopWord(hash: number): boolean {
  hashes ??= new Set(stopWords.trim().split(/\s+/).map(wordHash));
  return hashes.has(hash);
}
