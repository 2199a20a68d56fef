'use strict';
throw new Error('not even started');
