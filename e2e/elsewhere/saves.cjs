// Saves a chat repeatedly, like SillyTavern: node saves.cjs FILE SAVES PAUSE BYTES RESULT
const fs = require('fs');
const { sync: save } = require('write-file-atomic');

const [file, saves, pause, bytes, result] = process.argv.slice(2);
const step = Math.floor(Number(bytes) / Number(saves));
const failed = [];
let chat = JSON.stringify({ user_name: 'User', character_name: 'Mara', chat_metadata: {} });
let made = 0;

function next() {
    const message = { name: 'Mara', is_user: false, send_date: new Date().toISOString(), mes: `${made} ${'x'.repeat(Math.max(0, step - 90))}` };
    chat += `\n${JSON.stringify(message)}`;
    try {
        save(file, chat, 'utf8');
    } catch (error) {
        failed.push(`${error.code} ${error.syscall}`);
    }
    made += 1;
    if (made < Number(saves)) {
        setTimeout(next, Number(pause));
    } else {
        fs.writeFileSync(result, JSON.stringify({ made, failed: failed.length, errors: [...new Set(failed)], bytes: chat.length }));
    }
}

next();
