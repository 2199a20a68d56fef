'use strict';
const device = location.search.substring(1);
