// What happens when another chat is opened, or the chat is closed.

/** @import { App } from './app.js' */

/**
 * @param {Pick<App, 'host' | 'events' | 'forks' | 'childSaves' | 'lostBook' | 'recorder' | 'sceneCheckpoints' | 'timelines' | 'editorBook' | 'findings' | 'sharedLore'>} parts
 */
export async function chatOpened({ host, events, forks, childSaves, lostBook, recorder, sceneCheckpoints, timelines, editorBook, findings, sharedLore }) {
    findings.outdate();
    childSaves.pending.clear();
    forks.stopWaiting();
    const open = host.openChat();
    lostBook.chatOpened(open);
    recorder.chatOpened();
    sceneCheckpoints.chatOpened();
    timelines.openSaved();
    void events.reportErrors(() => editorBook.chatOpened(open));
    events.changed();
    if (!open) {
        return;
    }
    await events.reportErrors(async () => {
        if (open.book && !host.knownBooks().includes(open.book)) {
            // Another tab may have created it since this page loaded its list of books.
            await host.refreshBooks();
            recorder.bookChanged(open.book, undefined);
        }
        await findings.update(open, 'opened');
    });
    sharedLore.tellOnce(open);
}
