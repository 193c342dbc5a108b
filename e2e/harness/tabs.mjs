// Several tabs of one browser on the same SillyTavern.

import { TavernPage } from './page.mjs';
import { Watch } from './watch.mjs';

/** Another tab beside a page. It has to be closed by `closeTab`: a page takes all of them along. @param {TavernPage} page */
export async function openTab(page) {
    const raw = await page.raw.context().newPage();
    const tab = new TavernPage(raw, await Watch.on(raw), page.st);
    await raw.goto(page.st.url);
    await tab.ready();
    return tab;
}

/** As a user closes it: at once, whatever is under way. @param {TavernPage} tab */
export async function closeTab(tab) {
    await tab.raw.close({ runBeforeUnload: false });
}
