/** A line in SillyTavern's lorebook editor that warns if the lorebook belongs to another chat. */
import { button, icon } from './widgets/controls.js';
import { element, fill } from './widgets/dom.js';
import { say } from './words.js';

export function mountEditorLine(/** @type {import('./types.js').Parts} */ { app, screen }) {
    const line = element('div', { id: 'forklore_editor_line', class: 'forklore_editor_line', role: 'status', hidden: true });
    screen.mountInEditor(line);
    app.on('editor', (shown) => {
        line.hidden = !shown;
        fill(line, shown ? [
            icon('fa-triangle-exclamation'),
            element('span', { class: 'forklore_line' }, say(shown.own ? 'editor.other' : 'editor.other.none', shown)),
            shown.own ? button(say('editor.show'), { icon: 'fa-book', run: () => app.showOwnBook() }) : null,
        ] : []);
    });
}
